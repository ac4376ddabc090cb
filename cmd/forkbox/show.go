package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
)

// shownBox is the document of show --json: the box, and what ran in it.
type shownBox struct {
	forkbox.Box
	Execs []forkbox.Exec `json:"execs"`
}

func (a *app) showVerb() *cobra.Command {
	return &cobra.Command{
		Use:               "show BOX",
		Short:             "Show a box and what ran in it",
		Long:              "Show a box, with the commands that ran in it and how each ended.",
		Example:           "  forkbox show try\n  forkbox show try --json | jq .state",
		Args:              exactly(1, "a box: forkbox show BOX"),
		ValidArgsFunction: a.completeBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.client()
			box, err := c.Box(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			execs, err := c.Execs(cmd.Context(), box.ID)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(shownBox{box, execs})
			}
			if err := a.table("", func(w io.Writer) { writeBox(w, box) }); err != nil || len(execs) == 0 {
				return err
			}
			fmt.Fprintln(a.stdout)
			return a.table("EXEC\tSTARTED\tENDED\tCOMMAND", func(w io.Writer) { writeExecs(w, execs) })
		},
	}
}

func writeBox(w io.Writer, b forkbox.Box) {
	rows := [][2]string{
		{"name", b.Name}, {"id", b.ID}, {"state", stateText(b)}, {"provider", b.Provider},
		{"forked from", b.Base.Kind + ", " + ago(b.Base.Fence)}, {"owner", b.Owner.Name}, {"network", string(b.Net)},
		{"directory", printable(b.Dir)}, {"secrets shown", strings.Join(b.AllowSecrets, ", ")}, {"note", printable(b.Note)},
	}
	if b.Stale != "" {
		rows = append(rows, [2]string{"stale", staleText(b)})
	}
	for _, path := range b.Unresolved {
		rows = append(rows, [2]string{"unresolved", printable(path)})
	}
	if b.Pinned {
		rows = append(rows, [2]string{"kept running", "until: forkbox stop " + b.Name})
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
