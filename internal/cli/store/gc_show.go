package store

import (
	"fmt"
	"io"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// show lists what went, and with -v what stays, on stdout; the sum is on
// stderr.
func (g *collector) show(done forkbox.GC) error {
	if err := g.list(done); err != nil {
		return err
	}
	for _, item := range done.Removed {
		if item.Error != nil {
			g.Say("%s %s %s: %s", g.Paint(terminal.Red, "error:"), item.Kind, terminal.Printable(nameOf(item)), terminal.Printable(item.Error.Error()))
		}
	}
	gone := succeededOf(done.Removed)
	switch {
	case len(done.Removed) == 0 && len(done.Kept) > 0 && !g.verbose:
		g.Say("nothing to clear away; why %s: forkbox gc --dry-run -v", staysText(len(done.Kept)))
	case len(done.Removed) == 0:
		g.Say("nothing to clear away")
	case done.DryRun:
		g.Say("would remove %s and free %s", countKinds(gone), forkbox.FormatSize(done.Freed))
	default:
		g.Say("removed %s, freed %s", countKinds(gone), forkbox.FormatSize(done.Freed))
	}
	return nil
}

func staysText(n int) string {
	if n == 1 {
		return "1 other stays"
	}
	return fmt.Sprintf("%d others stay", n)
}

func (g *collector) list(done forkbox.GC) error {
	verb := "removed"
	if done.DryRun {
		verb = "goes"
	}
	return g.Table("", func(w io.Writer) {
		for _, item := range done.Removed {
			what := verb
			if item.Error != nil {
				what = "failed"
			}
			writeCollected(w, what, item)
		}
		for _, item := range done.Kept {
			if g.verbose {
				writeCollected(w, "stays", item)
			}
		}
	})
}

func writeCollected(w io.Writer, what string, item forkbox.Collected) {
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", what, item.Kind, terminal.Printable(nameOf(item)), forkbox.FormatSize(item.Bytes), terminal.Printable(item.Why))
}

func nameOf(item forkbox.Collected) string {
	if item.Name != "" {
		return item.Name
	}
	return item.ID
}

func anyFailed(items []forkbox.Collected) bool { return len(succeededOf(items)) < len(items) }

func succeededOf(items []forkbox.Collected) (gone []forkbox.Collected) {
	for _, item := range items {
		if item.Error == nil {
			gone = append(gone, item)
		}
	}
	return gone
}

// countKinds reads "2 boxes, 1 snapshot".
func countKinds(items []forkbox.Collected) string {
	count := map[string]int{}
	var order []string
	for _, item := range items {
		if count[item.Kind]++; count[item.Kind] == 1 {
			order = append(order, item.Kind)
		}
	}
	var parts []string
	for _, kind := range order {
		switch n := count[kind]; {
		case kind == "box" && n != 1:
			parts = append(parts, fmt.Sprintf("%d boxes", n))
		default:
			parts = append(parts, terminal.Plural(n, kind))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
