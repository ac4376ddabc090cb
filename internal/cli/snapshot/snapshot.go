// Package snapshot has the verbs that save, fork, export and share boxes.
package snapshot

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func SnapshotVerb(a *app.App) *cobra.Command {
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
		Args:              app.Between(1, 2, "a box: forkbox snapshot BOX [NAME]"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec := forkbox.SnapshotSpec{Message: message}
			if len(args) == 2 {
				spec.Name = args[1]
			}
			return snapshot(cmd.Context(), a, args[0], spec)
		},
	}
	cmd.Flags().StringVarP(&message, "message", "m", "", "what it is, for people")
	cmd.RegisterFlagCompletionFunc("message", cobra.NoFileCompletions)
	return cmd
}

func snapshot(ctx context.Context, a *app.App, ref string, spec forkbox.SnapshotSpec) error {
	var made forkbox.Snapshot
	err := a.Patiently(ctx, "saving "+ref, func(ctx context.Context) (err error) {
		made, err = a.Client().Snapshot(ctx, ref, spec)
		return err
	})
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(made)
	}
	if made.Paused > 0 {
		a.Say("paused %s while it was copied", pauseText(made.Paused))
	}
	_, err = fmt.Fprintln(a.Stdout, made.Name)
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

func SnapshotsVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "snapshots BOX",
		Short: "List the snapshots of a box",
		Long: `List the snapshots of a box, oldest first. The one that the box stands on, as it was
last saved or rolled back to, has a * after its name. An automatic one is what a rollback kept of what was there
before.`,
		Example:           "  forkbox snapshots try\n  forkbox snapshots try --json | jq -r '.snapshots[].name'",
		Args:              app.Exactly(1, "a box: forkbox snapshots BOX"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return listSnapshots(cmd.Context(), a, args[0]) },
	}
}

func listSnapshots(ctx context.Context, a *app.App, ref string) error {
	c := a.Client()
	defer c.Close()
	box, err := c.Box(ctx, ref)
	if err != nil {
		return err
	}
	list, err := c.Snapshots(ctx, box.ID)
	if err != nil {
		return err
	}
	if a.JSON {
		if list == nil {
			list = []forkbox.Snapshot{}
		}
		return a.PrintJSON(api.SnapshotList{Snapshots: list})
	}
	if len(list) == 0 {
		a.Say("box %s has no snapshots yet; make one: forkbox snapshot %s", box.Name, box.Name)
		return nil
	}
	return a.Table("NAME\tCREATED\tMESSAGE", func(w io.Writer) { writeSnapshots(w, box, list) })
}

func writeSnapshots(w io.Writer, box forkbox.Box, list []forkbox.Snapshot) {
	for _, s := range list {
		fmt.Fprintf(w, "%s%s\t%s\t%s\n", terminal.Printable(s.Name), standsOn(box, s), terminal.Ago(s.Created), describe.Message(s))
	}
}

// standsOn marks the snapshot that a box was last saved as or rolled back to.
func standsOn(box forkbox.Box, s forkbox.Snapshot) string {
	if box.At == s.ID {
		return " *"
	}
	return ""
}
