package store

import (
	"context"
	"fmt"
	"io"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func RepairVerb(a *app.App) *cobra.Command {
	m := &strayMender{App: a}
	cmd := &cobra.Command{
		Use:   "repair [--stray DIR --restore|--delete]",
		Short: "Bring back what the ledger has lost, or what a lost apply left",
		Long: `Bring back boxes, their snapshots, templates and receipts that lie in the store and
that the ledger does not know: it was lost, or an older one was put in its place.
What the ledger does not know is never deleted, so this can be done at any time, and
repeated. What cannot be brought back is named and stays where it is; the exit code is
then 125. Only root, or whoever the daemon runs as, may do this.

What is not in the store does not come back: the commands that were run (their output
does), races, and the logs of events and connections.

With --stray it is about a directory .forkbox-ID in reality, which doctor finds: an
apply was killed, and the store with its receipt is gone. --restore takes that apply
back. What has changed at a path since stays there; it is named, and the exit code is
that of a conflict. Nothing is deleted: what had landed is in the directory then.
--delete removes it with all that is in it. Only its owner, or root, may do this.`,
		Example: `  forkbox doctor
  forkbox repair
  forkbox repair --json | jq '.left'
  forkbox repair --stray /home/me/.forkbox-0f3c22a91b7e --restore`,
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch err := m.check(); {
			case err != nil:
				return err
			case m.dir != "":
				return m.run(cmd.Context())
			}
			return repair(cmd.Context(), a)
		},
	}
	cmd.Flags().StringVar(&m.dir, "stray", "", "mend this `DIR`, which a lost apply left in reality")
	cmd.Flags().BoolVar(&m.restore, "restore", false, "take that apply back")
	cmd.Flags().BoolVar(&m.delete, "delete", false, "remove it with all that is in it")
	cmd.MarkFlagDirname("stray")
	return cmd
}

func repair(ctx context.Context, a *app.App) error {
	var done forkbox.Repair
	err := a.Patiently(ctx, "looking through the store", func(ctx context.Context) (err error) {
		done, err = a.Client().Repair(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if a.JSON {
		err = a.PrintJSON(done)
	} else {
		err = showRepair(a, done)
	}
	if err == nil && len(done.Left) > 0 {
		err = terminal.ExitStatus(forkbox.Unsupported.ExitCode())
	}
	return err
}

func showRepair(a *app.App, done forkbox.Repair) error {
	if len(done.Boxes)+len(done.Templates)+len(done.Receipts)+len(done.Left) == 0 {
		fmt.Fprintln(a.Stdout, "the ledger knows all that is stored")
		return nil
	}
	return a.Table("", func(w io.Writer) {
		for _, kind := range []struct {
			name string
			list []forkbox.Repaired
		}{{"box", done.Boxes}, {"template", done.Templates}, {"receipt", done.Receipts}} {
			for _, r := range kind.list {
				fmt.Fprintf(w, "back\t%s\t%s\t%s\t%s\n", kind.name, r.ID, terminal.Printable(r.Name), terminal.Printable(backText(r)))
			}
		}
		for _, r := range done.Left {
			fmt.Fprintf(w, "left\t\t%s\t%s\t%s\n", r.ID, terminal.Printable(r.Name), terminal.Printable(r.Why))
		}
	})
}

func backText(r forkbox.Repaired) string {
	if r.Why != "" || r.Snapshots == 0 {
		return r.Why
	}
	return fmt.Sprintf("with %s", terminal.Plural(r.Snapshots, "snapshot"))
}
