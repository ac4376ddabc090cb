package review

import (
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/scope"
)

// Chosen is a selection while it is being met.
type Chosen struct {
	forkbox.Selection
	// noise are those of its paths that are noise themselves: who names them
	// means them.
	noise []string
	met   map[string]bool
	hunks map[string]bool // files of which hunks are chosen
}

// Choose prepares a selection. sorter is one that has sorted nothing yet.
func Choose(sel forkbox.Selection, hunks []forkbox.HunkSelection, sorter *scope.Sorter) *Chosen {
	c := &Chosen{Selection: sel, met: map[string]bool{}, hunks: map[string]bool{}}
	paths := slices.Sorted(slices.Values(sel.Paths))
	for _, p := range paths {
		if sorter.Scope(forkbox.Change{Path: p, Kind: forkbox.Modified, Type: "file"}) == forkbox.Noise ||
			sorter.Scope(forkbox.Change{Path: p, Kind: forkbox.Modified, Type: "dir"}) == forkbox.Noise {
			c.noise = append(c.noise, p)
		}
	}
	for _, h := range hunks {
		c.hunks[HunkPath(h)] = true
	}
	return c
}

// HunkPath is the file that a hunk selection is about.
func HunkPath(h forkbox.HunkSelection) string {
	if len(h.Bytes) > 0 {
		return string(h.Bytes)
	}
	return h.Path
}

// has says whether a change is selected.
func (c *Chosen) has(e *Entry) bool {
	switch {
	case c.hunks[e.Path]:
		c.met[e.Path] = true
		return true
	case len(c.hunks) > 0 && len(c.Paths) == 0 && !c.All:
		return false
	case len(c.Paths) == 0:
		return c.All || e.Scope == forkbox.Workspace
	case !c.Names(e.Path):
		return false
	}
	c.meet(e.Path)
	if c.Exact || c.All || e.Scope != forkbox.Noise {
		return true
	}
	return slices.ContainsFunc(c.noise, func(p string) bool { return forkbox.Within(e.Path, p) })
}

// meet remembers which of the paths there was something at.
func (c *Chosen) meet(path string) {
	for _, p := range c.Paths {
		if !c.met[p] && (p == path || !c.Exact && forkbox.Within(path, p)) {
			c.met[p] = true
		}
	}
}

// Unmet is an error when something was named where the box changed nothing.
func (c *Chosen) Unmet(op string) error {
	var missing []string
	for _, p := range c.Paths {
		if !c.met[p] {
			missing = append(missing, p)
		}
	}
	for p := range c.hunks {
		if !c.met[p] {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	missing = slices.Compact(missing)
	err := forkbox.Errorf(forkbox.NotFound, op, "the box has no change at %q", missing[0]).
		Hint("forkbox diff --all shows what it changed")
	for _, p := range missing {
		err.About(p, "no change at or below it")
	}
	return err
}

// named says whether a path itself was named, so that it is meant although it
// would be left out otherwise.
func (c *Chosen) named(p string) bool { return slices.Contains(c.Paths, p) || c.hunks[p] }
