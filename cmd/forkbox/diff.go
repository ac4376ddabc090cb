package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
)

func (a *app) diffVerb() *cobra.Command {
	d := &differ{app: a}
	cmd := &cobra.Command{
		Use:   "diff [--name-only|--stat] BOX",
		Short: "Show what differs between a box and reality",
		Long: `List the paths that differ between a box and what it was forked from: how, how
large, and where. Deleting a directory is one line. A name that would not print
as it is is quoted.

With --json: {"changes":[…],"summary":{…}}.`,
		Example: `  forkbox diff try
  forkbox diff --stat try
  forkbox diff try --json | jq -r '.changes[] | select(.kind=="deleted").path'`,
		Args:              exactly(1, "a box: forkbox diff BOX"),
		ValidArgsFunction: a.completeBoxes(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVar(&d.nameOnly, "name-only", false, "paths only")
	cmd.Flags().BoolVar(&d.stat, "stat", false, "counts only")
	cmd.MarkFlagsMutuallyExclusive("name-only", "stat")
	return cmd
}

type differ struct {
	*app
	nameOnly, stat bool
}

// run prints changes as they arrive: there may be millions.
func (d *differ) run(ctx context.Context, ref string) error {
	out := bufio.NewWriter(d.stdout)
	defer out.Flush()
	if d.json {
		return d.writeJSON(ctx, ref, out)
	}
	summary, err := d.client().Changes(ctx, ref, func(c forkbox.Change) error {
		switch {
		case d.stat:
			return nil
		case d.nameOnly:
			_, err := fmt.Fprintln(out, changePath(c))
			return err
		}
		_, err := fmt.Fprintln(out, changeLine(d.stdout, c))
		return err
	})
	if err == nil && d.stat {
		fmt.Fprintf(out, "%s, %s in the box\n", countByKind(summary), size(summary.Bytes))
	}
	return err
}

// writeJSON writes one change per line. With --stat the list is left out.
func (d *differ) writeJSON(ctx context.Context, ref string, out *bufio.Writer) error {
	begun := false
	begin := func() {
		if !begun {
			begun = true
			out.WriteString("{\"changes\":[")
		}
	}
	n := 0
	summary, err := d.client().Changes(ctx, ref, func(c forkbox.Change) error {
		if d.stat {
			return nil
		}
		begin()
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		if n++; n > 1 {
			out.WriteString(",")
		}
		out.WriteString("\n  ")
		_, err = out.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	begin()
	text, err := json.Marshal(summary)
	fmt.Fprintf(out, "],\n\"summary\":%s}\n", text)
	return err
}
