package snapshot

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func RollbackVerb(a *app.App) *cobra.Command {
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
		Args:              app.Between(1, 2, "a box: forkbox rollback BOX [SNAPSHOT]"),
		ValidArgsFunction: a.CompleteBoxThenSnapshot,
		RunE: func(cmd *cobra.Command, args []string) error {
			return rollback(cmd.Context(), a, args[0], forkbox.RollbackSpec{To: append(args, "")[1], Force: force})
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "end what runs in the box")
	return cmd
}

func rollback(ctx context.Context, a *app.App, ref string, spec forkbox.RollbackSpec) error {
	ref, spec.To = splitRollback(ref, spec.To)
	c := a.Client()
	defer c.Close()
	done, err := tryRollback(ctx, a, c, ref, spec)
	if forkbox.CodeOf(err) == forkbox.Busy && !spec.Force && a.CanAsk() {
		if !a.Agree("something runs in box " + terminal.Printable(ref) + ", and would end. Roll back?") {
			a.Say("nothing was rolled back")
			return terminal.ExitStatus(forkbox.Busy.ExitCode())
		}
		spec.Force = true
		done, err = tryRollback(ctx, a, c, ref, spec)
	}
	if err != nil {
		return app.Advise(err, forkbox.Busy, "-f", "end what runs in it: forkbox rollback -f %s", terminal.CommandLine([]string{ref, spec.To}))
	}
	if a.JSON {
		return a.PrintJSON(done)
	}
	tellRollback(a, done)
	return nil
}

// splitRollback also takes BOX@SNAPSHOT, as every other verb calls it.
func splitRollback(ref, to string) (string, string) {
	if box, snapshot, at := forkbox.SplitRef(ref); at && to == "" {
		return box, snapshot
	}
	return ref, to
}

func tryRollback(ctx context.Context, a *app.App, c *client.Client, ref string, spec forkbox.RollbackSpec) (done forkbox.Rollback, err error) {
	err = a.Patiently(ctx, "rolling back "+ref, func(ctx context.Context) error {
		done, err = c.Rollback(ctx, ref, spec)
		return err
	})
	return done, err
}

func tellRollback(a *app.App, done forkbox.Rollback) {
	message := ""
	if done.To.Message != "" {
		message = " (" + terminal.Printable(done.To.Message) + ")"
	}
	a.Say("box %s is as it was at %s, %s%s", done.Box.Name, terminal.Printable(done.To.Name), terminal.Ago(done.To.Created), message)
	if done.Kept.Name != "" {
		a.Say("undo that: forkbox rollback %s %s", done.Box.Name, terminal.ShellWord(done.Kept.Name))
	}
}
