package change

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// Line is a change as one line for the terminal that tty may be.
func Line(tty io.Writer, at place.Place, c forkbox.Change) string {
	kind := fmt.Sprintf("%-8s", c.Kind)
	switch c.Kind {
	case forkbox.Deleted:
		kind = terminal.PaintFor(tty, terminal.Red, kind)
	case forkbox.Added:
		kind = terminal.PaintFor(tty, terminal.Green, kind)
	case forkbox.Modified:
		kind = terminal.PaintFor(tty, terminal.Yellow, kind)
	}
	return fmt.Sprintf("%s  %7s  %s%s", kind, changeSize(c), changePath(at, c), changeDetail(at, c))
}

func changeSize(c forkbox.Change) string {
	if c.Type != "file" {
		return "-"
	}
	return forkbox.FormatSize(c.Size)
}

// rawPath is the path's own bytes, which JSON may have altered.
func rawPath(c forkbox.Change) string {
	if len(c.PathBytes) > 0 {
		return string(c.PathBytes)
	}
	return c.Path
}

// namePath is the path as the caller may type it, directories marked as ls -p
// does.
func namePath(at place.Place, c forkbox.Change) string {
	path := at.Show(rawPath(c))
	if c.Type == "dir" && !strings.HasSuffix(path, "/") {
		path += "/"
	}
	return path
}

// changePath quotes what does not print.
func changePath(at place.Place, c forkbox.Change) string { return terminal.Printable(namePath(at, c)) }

// changeDetail is what else there is to know, in brackets.
func changeDetail(at place.Place, c forkbox.Change) string {
	var details []string
	note := func(when bool, format string, args ...any) {
		if when {
			details = append(details, fmt.Sprintf(format, args...))
		}
	}
	note(c.From != "", "from %s", terminal.Printable(at.Show(c.From)))
	note(c.From != "" && c.Similarity > 0 && c.Similarity < 100, "%d%% alike", c.Similarity)
	note(c.Link != "", "same file as %s", terminal.Printable(at.Show(c.Link)))
	note(c.Kind == forkbox.Deleted && c.Entries+c.MovedOut > 0, "%s", belowText(c))
	note(newMode(c), "%s to %s", forkbox.ModeText(c.OldMode), forkbox.ModeText(c.Mode))
	note(c.Owner != "" && c.OldOwner != "", "owner %s to %s", c.OldOwner, c.Owner)
	note(slices.Contains(c.Attrs, "xattr"), "other extended attributes")
	note(c.Hidden, "hidden in the box")
	note(c.Drifted, "changed in reality too")
	if len(details) == 0 {
		return ""
	}
	return "  (" + strings.Join(details, ", ") + ")"
}

// belowText says what went with a directory, and what of it is elsewhere.
func belowText(c forkbox.Change) string {
	text := fmt.Sprintf("with %s below", terminal.Plural(c.Entries, "path"))
	if c.MovedOut > 0 {
		text += fmt.Sprintf("; %d moved out", c.MovedOut)
	}
	return text
}

// newMode is false for what was not there before, or is not there any more.
func newMode(c forkbox.Change) bool {
	switch c.Kind {
	case forkbox.Added, forkbox.Deleted, forkbox.Linked:
		return false
	case forkbox.Mode:
		return c.Mode != c.OldMode
	}
	return slices.Contains(c.Attrs, "mode")
}
