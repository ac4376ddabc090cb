package main

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) rollbackVerb() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "rollback [-f] BOX [SNAPSHOT]",
		Short: "Make a box what it was at a snapshot",
		Long: `Make a box what it was at a snapshot, or, without SNAPSHOT, at the last one that
you made. Reality is not touched. What was in the box is itself kept, as an
automatic snapshot: a rollback can be rolled back.

Processes of the box would end. At a terminal you are asked whether they may;
otherwise it takes -f.`,
		Example: `  forkbox rollback try
  forkbox rollback try green
  forkbox rollback -f try green`,
		Args:              between(1, 2, "a box: forkbox rollback BOX [SNAPSHOT]"),
		ValidArgsFunction: a.completeBoxThenSnapshot,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.rollback(cmd.Context(), args[0], forkbox.RollbackSpec{To: append(args, "")[1], Force: force})
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "end what runs in the box")
	return cmd
}

func (a *app) rollback(ctx context.Context, ref string, spec forkbox.RollbackSpec) error {
	ref, spec.To = splitRollback(ref, spec.To)
	c := a.client()
	defer c.Close()
	done, err := a.tryRollback(ctx, c, ref, spec)
	if forkbox.CodeOf(err) == forkbox.Busy && !spec.Force && a.canAsk() {
		if !a.agree("something runs in box " + printable(ref) + ", and would end. Roll back?") {
			a.say("nothing was rolled back")
			return exitStatus(forkbox.Busy.ExitCode())
		}
		spec.Force = true
		done, err = a.tryRollback(ctx, c, ref, spec)
	}
	if err != nil {
		return advise(err, forkbox.Busy, "-f", "end what runs in it: forkbox rollback -f %s", commandLine([]string{ref, spec.To}))
	}
	if a.json {
		return a.printJSON(done)
	}
	a.tellRollback(done)
	return nil
}

// splitRollback also takes BOX@SNAPSHOT, as every other verb calls it.
func splitRollback(ref, to string) (string, string) {
	if box, snapshot, at := forkbox.SplitRef(ref); at && to == "" {
		return box, snapshot
	}
	return ref, to
}

func (a *app) tryRollback(ctx context.Context, c *client.Client, ref string, spec forkbox.RollbackSpec) (done forkbox.Rollback, err error) {
	err = a.patiently(ctx, "rolling back "+ref, func(ctx context.Context) error {
		done, err = c.Rollback(ctx, ref, spec)
		return err
	})
	return done, err
}

func (a *app) tellRollback(done forkbox.Rollback) {
	message := ""
	if done.To.Message != "" {
		message = " (" + printable(done.To.Message) + ")"
	}
	a.say("box %s is as it was at %s, %s%s", done.Box.Name, printable(done.To.Name), ago(done.To.Created), message)
	if done.Kept.Name != "" {
		a.say("undo that: forkbox rollback %s %s", done.Box.Name, shellWord(done.Kept.Name))
	}
}
