package change

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

type statRow struct {
	name        string
	plus, minus int
	note        string // in place of a bar
}

// fit pads a name, and cuts the front of one that is too long.
func fit(name string, width int) string {
	n := utf8.RuneCountInString(name)
	if n > width {
		runes := []rune(name)
		return "..." + string(runes[n-width+3:])
	}
	return name + strings.Repeat(" ", max(width-n, 0))
}

func statName(at place.Place, c forkbox.Change) string {
	if c.From == "" {
		return changePath(at, c)
	}
	return terminal.Printable(at.Show(c.From)) + " => " + changePath(at, c)
}

// statNote is for what has no lines to count.
func statNote(c forkbox.Change) string {
	switch {
	case c.Binary:
		from, to := c.OldSize, c.Size
		if c.Kind == forkbox.Deleted {
			from, to = c.Size, 0
		}
		return fmt.Sprintf("Bin %d -> %d bytes", from, to)
	case c.Plus+c.Minus > 0:
		return ""
	case newMode(c):
		return fmt.Sprintf("%s to %s", forkbox.ModeText(c.OldMode), forkbox.ModeText(c.Mode))
	case c.Type != "file":
		return fmt.Sprintf("%s %s", c.Type, c.Kind)
	case c.Kind == forkbox.Mode:
		return "new " + strings.Join(c.Attrs, ", ")
	case c.Kind == forkbox.Linked:
		return "linked"
	}
	return ""
}
