package store

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func DuVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "du [BOX…]",
		Short: "Show what takes the space",
		Long: `Show what your boxes, snapshots, templates and bases take on the disk. OWN is what
removing one of them alone would free, TOTAL all that it consists of. What several
share is in nobody's OWN; the sum below has it once.

With BOX only those and their snapshots are listed.`,
		Example:           "  forkbox du\n  forkbox du try\n  forkbox du --json | jq .total_bytes",
		ValidArgsFunction: a.CompleteBoxes(0),
		RunE:              func(cmd *cobra.Command, args []string) error { return du(cmd.Context(), a, args) },
	}
}

func du(ctx context.Context, a *app.App, refs []string) error {
	c := a.Client()
	defer c.Close()
	var usage forkbox.Usage
	err := a.Patiently(ctx, "measuring", func(ctx context.Context) (err error) {
		boxes, err := findBoxes(ctx, c, refs)
		if err != nil {
			return err
		}
		if usage, err = c.Usage(ctx); err == nil && len(refs) > 0 {
			usage.Items = itemsOf(usage.Items, boxes)
		}
		return err
	})
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(usage)
	}
	return a.Table("KIND\tNAME\tOWN\tTOTAL\tFILES", func(w io.Writer) { writeUsage(w, usage, len(refs) == 0) })
}

func findBoxes(ctx context.Context, c *client.Client, refs []string) ([]forkbox.Box, error) {
	var boxes []forkbox.Box
	for _, ref := range refs {
		box, err := c.Box(ctx, ref)
		if err != nil {
			return nil, err
		}
		boxes = append(boxes, box)
	}
	return boxes, nil
}

// itemsOf are those of some boxes and their snapshots, which are called
// BOX@SNAPSHOT.
func itemsOf(items []forkbox.UsedItem, boxes []forkbox.Box) []forkbox.UsedItem {
	chosen := []forkbox.UsedItem{}
	for _, item := range items {
		for _, box := range boxes {
			if item.ID == box.ID || item.Kind == "snapshot" && strings.HasPrefix(item.Name, box.Name+"@") {
				chosen = append(chosen, item)
				break
			}
		}
	}
	return chosen
}

func writeUsage(w io.Writer, usage forkbox.Usage, sum bool) {
	for _, item := range usage.Items {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\n", item.Kind, terminal.Printable(item.Name), forkbox.FormatSize(item.Own), forkbox.FormatSize(item.All), item.Files)
	}
	if !sum {
		return
	}
	fmt.Fprintf(w, "shared\t\t%s\n", forkbox.FormatSize(usage.Shared))
	fmt.Fprintf(w, "other\t\t%s\n", forkbox.FormatSize(usage.Other))
	fmt.Fprintf(w, "sum\t\t%s\n", forkbox.FormatSize(usage.Total))
}
