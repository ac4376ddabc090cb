package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
)

// shownBox is the document of show --json: the box, what ran in it, and its
// snapshots.
type shownBox struct {
	forkbox.Box
	Execs     []forkbox.Exec     `json:"execs"`
	Snapshots []forkbox.Snapshot `json:"snapshots"`
	// Origin is what it was forked from, as people call it.
	Origin string `json:"origin,omitempty"`
}

func (a *app) showVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "show BOX",
		Short: "Show a box and what ran in it",
		Long: `Show a box: what it was made of, the snapshots it has and how they are stored,
and the commands that ran in it and how each ended.`,
		Example:           "  forkbox show try\n  forkbox show try --json | jq .state",
		Args:              exactly(1, "a box: forkbox show BOX"),
		ValidArgsFunction: a.completeBoxes(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.show(cmd.Context(), args[0]) },
	}
}

func (a *app) show(ctx context.Context, ref string) error {
	c := a.client()
	defer c.Close()
	shown, err := gatherBox(ctx, c, ref)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(shown)
	}
	if err := a.table("", func(w io.Writer) { writeBox(w, shown) }); err != nil || len(shown.Execs) == 0 {
		return err
	}
	fmt.Fprintln(a.stdout)
	return a.table("EXEC\tSTARTED\tENDED\tCOMMAND", func(w io.Writer) { writeExecs(w, shown.Execs) })
}

func writeBox(w io.Writer, b shownBox) {
	rows := [][2]string{
		{"name", b.Name}, {"id", b.ID}, {"state", stateText(b.Box)}, {"provider", b.Provider},
		{"base", baseText(b.Base)}, {"forked from", printable(b.Origin)}, {"stands on", standsOnText(b)},
		{"snapshots", snapshotsText(b)}, {"store", storeText(b.Box)},
		{"owner", b.Owner.Name}, {"network", string(b.Net)}, {"directory", printable(b.Dir)}, {"secrets shown", strings.Join(b.AllowSecrets, ", ")}, {"note", printable(b.Note)},
	}
	if b.Stale != "" {
		rows = append(rows, [2]string{"stale", staleText(b.Box)})
	}
	for _, path := range b.Unresolved {
		rows = append(rows, [2]string{"unresolved", printable(path)})
	}
	if b.Pinned {
		rows = append(rows, [2]string{"kept running", "until: forkbox stop " + b.Name})
	}
	if b.Kept {
		rows = append(rows, [2]string{"kept", "gc leaves it alone, until: forkbox keep --off " + b.Name})
	}
	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
}

func writeExecs(w io.Writer, execs []forkbox.Exec) {
	for _, e := range execs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", e.ID, ago(e.Started), exitText(e.Exit), commandLine(e.Argv))
	}
}

// exitText is how an exec ended, in a word or two.
func exitText(exit *forkbox.Exit) string {
	switch {
	case exit == nil:
		return "running"
	case exit.Cause == forkbox.CauseExited:
		return fmt.Sprintf("exit %d", exit.Code)
	case exit.Signal != "":
		return fmt.Sprintf("%s (%s)", exit.Cause, exit.Signal)
	}
	return string(exit.Cause)
}

func staleText(b forkbox.Box) string {
	return printable(b.Stale) + "; bring it up to date: forkbox sync " + b.Name
}
