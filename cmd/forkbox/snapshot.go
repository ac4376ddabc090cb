package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) snapshotVerb() *cobra.Command {
	var message string
	cmd := &cobra.Command{
		Use:   "snapshot [-m MESSAGE] BOX [NAME]",
		Short: "Save what a box is now",
		Long: `Save what a box is now, and print the snapshot's name; without NAME it is a
number. Whatever changes in the box later, forkbox rollback goes back to it and
forkbox fork makes other boxes of it. It costs nothing but what changes later.

What runs in the box goes on. It stands still while it is copied; how long that
was is on stderr.`,
		Example: `  forkbox snapshot try
  forkbox snapshot -m 'tests pass' try green
  forkbox rollback try green`,
		Args:              between(1, 2, "a box: forkbox snapshot BOX [NAME]"),
		ValidArgsFunction: a.completeBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec := forkbox.SnapshotSpec{Message: message}
			if len(args) == 2 {
				spec.Name = args[1]
			}
			return a.snapshot(cmd.Context(), args[0], spec)
		},
	}
	cmd.Flags().StringVarP(&message, "message", "m", "", "what it is, for people")
	cmd.RegisterFlagCompletionFunc("message", cobra.NoFileCompletions)
	return cmd
}

func (a *app) snapshot(ctx context.Context, ref string, spec forkbox.SnapshotSpec) error {
	var made forkbox.Snapshot
	err := a.patiently(ctx, "saving "+ref, func(ctx context.Context) (err error) {
		made, err = a.client().Snapshot(ctx, ref, spec)
		return err
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(made)
	}
	if made.Paused > 0 {
		a.say("paused %s while it was copied", pauseText(made.Paused))
	}
	_, err = fmt.Fprintln(a.stdout, made.Name)
	return err
}

// pauseText is a short time: "12 ms", "1.3 s".
func pauseText(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "under 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func (a *app) snapshotsVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "snapshots BOX",
		Short: "List the snapshots of a box",
		Long: `List the snapshots of a box, oldest first. The one that the box stands on, as it was
last saved or rolled back to, has a * after its name. An automatic one is what a rollback kept of what was there
before.`,
		Example:           "  forkbox snapshots try\n  forkbox snapshots try --json | jq -r '.snapshots[].name'",
		Args:              exactly(1, "a box: forkbox snapshots BOX"),
		ValidArgsFunction: a.completeBoxes(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.listSnapshots(cmd.Context(), args[0]) },
	}
}

func (a *app) listSnapshots(ctx context.Context, ref string) error {
	c := a.client()
	defer c.Close()
	box, err := c.Box(ctx, ref)
	if err != nil {
		return err
	}
	list, err := c.Snapshots(ctx, box.ID)
	if err != nil {
		return err
	}
	if a.json {
		if list == nil {
			list = []forkbox.Snapshot{}
		}
		return a.printJSON(client.SnapshotList{Snapshots: list})
	}
	if len(list) == 0 {
		a.say("box %s has no snapshots yet; make one: forkbox snapshot %s", box.Name, box.Name)
		return nil
	}
	return a.table("NAME\tCREATED\tMESSAGE", func(w io.Writer) { writeSnapshots(w, box, list) })
}

func writeSnapshots(w io.Writer, box forkbox.Box, list []forkbox.Snapshot) {
	for _, s := range list {
		fmt.Fprintf(w, "%s%s\t%s\t%s\n", printable(s.Name), standsOn(box, s), ago(s.Created), messageText(s))
	}
}

// standsOn marks the snapshot that a box was last saved as or rolled back to.
func standsOn(box forkbox.Box, s forkbox.Snapshot) string {
	if box.At == s.ID {
		return " *"
	}
	return ""
}
