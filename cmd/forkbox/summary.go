package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

const (
	shownDeletions = 20
	shownOthers    = 5
)

// glance keeps the few changes that a summary shows, out of any number.
type glance struct {
	box       forkbox.Box
	deletions []forkbox.Change
	others    []forkbox.Change
}

func newGlance(box forkbox.Box) *glance { return &glance{box: box} }

func (g *glance) add(change forkbox.Change) error {
	switch {
	case change.Kind == forkbox.Deleted && len(g.deletions) < shownDeletions:
		g.deletions = append(g.deletions, change)
	case change.Kind != forkbox.Deleted && len(g.others) < shownOthers:
		g.others = append(g.others, change)
	}
	return nil
}

// showSummary never hides that something was deleted: deletions come first and
// have their own limit.
func (r *runner) showSummary(look *glance, result runResult) {
	s := result.Summary
	if s.Total == 0 {
		if !r.keep && !r.discard {
			r.say("nothing changed")
		}
	} else {
		r.say("%s %s", r.paint(bold, "box "+look.box.Name+":"), countByKind(s))
		r.showSome(look.deletions, s.Deleted, "deletions")
		r.showSome(look.others, s.Total-s.Deleted, "changes")
	}
	if failed(result.Exec) && result.Box.Net == forkbox.NetNone {
		r.say("the box has no network; if the command needed it: forkbox run --net host -- %s", commandLine(result.Exec.Argv))
	}
}

func (r *runner) showSome(changes []forkbox.Change, total int, what string) {
	for _, change := range changes {
		r.say("  %s", changeLine(r.stderr, change))
	}
	if more := total - len(changes); more > 0 {
		r.say("  and %d more %s", more, what)
	}
}

func failed(exec forkbox.Exec) bool {
	return exec.Exit != nil && exec.Exit.Code != 0 && exec.Exit.Cause == forkbox.CauseExited
}

// countByKind reads "2 deleted, 1 modified, 3 added".
func countByKind(s client.Summary) string {
	var parts []string
	for _, row := range []struct {
		n    int
		what string
	}{
		{s.Deleted, "deleted"}, {s.Modified, "modified"}, {s.Added, "added"},
		{s.Renamed, "renamed"}, {s.Mode, "with new mode or owner"}, {s.Type, "of another type"},
	} {
		if row.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", row.n, row.what))
		}
	}
	if len(parts) == 0 {
		return "nothing changed"
	}
	return strings.Join(parts, ", ")
}

// changeLine is a change as one line for the terminal that tty may be.
func changeLine(tty io.Writer, c forkbox.Change) string {
	kind := fmt.Sprintf("%-8s", c.Kind)
	switch c.Kind {
	case forkbox.Deleted:
		kind = paintFor(tty, red, kind)
	case forkbox.Added:
		kind = paintFor(tty, green, kind)
	case forkbox.Modified:
		kind = paintFor(tty, yellow, kind)
	}
	return fmt.Sprintf("%s  %7s  %s%s", kind, changeSize(c), changePath(c), changeDetail(c))
}

func changeSize(c forkbox.Change) string {
	if c.Type != "file" {
		return "-"
	}
	return size(c.Size)
}

// changePath marks directories as ls -p does, and quotes what does not print.
func changePath(c forkbox.Change) string {
	path := c.Path
	if len(c.PathBytes) > 0 {
		path = string(c.PathBytes)
	}
	if c.Type == "dir" && !strings.HasSuffix(path, "/") {
		path += "/"
	}
	return printable(path)
}

func changeDetail(c forkbox.Change) string {
	var details []string
	if c.From != "" {
		details = append(details, "from "+printable(c.From))
	}
	if c.Kind == forkbox.Deleted && c.Entries > 0 {
		details = append(details, fmt.Sprintf("with %d paths below", c.Entries))
	}
	if c.Kind == forkbox.Mode && c.Mode != c.OldMode {
		details = append(details, fmt.Sprintf("%s to %s", c.OldMode, c.Mode))
	}
	if c.Hidden {
		details = append(details, "hidden in the box")
	}
	if len(details) == 0 {
		return ""
	}
	return "  (" + strings.Join(details, ", ") + ")"
}
