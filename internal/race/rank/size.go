package rank

import "github.com/forkbox/forkbox"

// binaryLine is how many bytes of a binary file count as a line. It has none,
// and would else be the smallest diff there is.
const binaryLine = 80

// Count adds a change in the workspace to how much an approach changed. A
// directory is no file; one that is gone counts as what was in it.
func Count(size *forkbox.DiffSize, c forkbox.Change) {
	plus, minus := c.Plus, c.Minus
	if c.Binary {
		plus, minus = binaryLines(c)
	}
	size.Plus, size.Minus = size.Plus+plus, size.Minus+minus
	switch {
	case c.Type != "dir" || c.Kind == forkbox.Renamed:
		size.Files++
	case c.Kind == forkbox.Deleted:
		size.Files += c.Entries
	}
}

// binaryLines takes the whole content for changed where any of it is.
func binaryLines(c forkbox.Change) (plus, minus int) {
	lines := func(bytes int64) int { return int((bytes + binaryLine - 1) / binaryLine) }
	switch c.Kind {
	case forkbox.Added:
		return lines(c.Size), 0
	case forkbox.Deleted:
		return 0, lines(c.Size)
	case forkbox.Mode, forkbox.Linked:
		return 0, 0
	case forkbox.Renamed:
		if c.Similarity == 100 {
			return 0, 0
		}
	}
	return lines(c.Size), lines(c.OldSize)
}
