package review

import (
	"bytes"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/patch"
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

// selection is the hunks that were asked for at a path.
func (p *Plan) selection(e *Entry) (forkbox.HunkSelection, bool) {
	if p.hunks == nil {
		p.hunks = map[string]forkbox.HunkSelection{}
		for _, h := range p.Spec.Hunks {
			p.hunks[HunkPath(h)] = h
		}
	}
	h, ok := p.hunks[e.Path]
	return h, ok
}

// partial lands some hunks of a file.
func (p *Plan) partial(e *Entry, before side, expect *forkbox.Identity) (Step, error) {
	after, err := e.newSide()
	if err != nil {
		return Step{}, err
	}
	content, all, err := p.pick(e, before, after)
	if err != nil {
		return Step{}, err
	}
	mode := after.mode
	if before.there {
		mode = before.mode // a mode is no hunk; it lands with the whole file
	}
	s, err := p.putBytes(e, content, after.content, mode, expect)
	s.Landed.Partial = !all || mode != after.mode
	if bytes.Equal(content, before.content) && before.there {
		s.Items = nil
	}
	return s, err
}

// pick is the old content with the chosen hunks in it. all says whether that
// is all that the box has.
func (p *Plan) pick(e *Entry, before, after side) (content []byte, all bool, err error) {
	const op = "apply hunks"
	sel, _ := p.selection(e)
	if before.closed || after.closed {
		return nil, false, forkbox.Errorf(forkbox.Denied, op, "you may not read all of %q: its hunks are not told", e.Path).
			Hint("apply it as a whole: forkbox apply BOX %s", e.Path)
	}
	if before.there && !before.git || !after.git || !after.mode.IsRegular() || before.there && !before.mode.IsRegular() {
		return nil, false, forkbox.Errorf(forkbox.Invalid, op, "%q has no hunks", e.Path).
			Hint("apply it as a whole: forkbox apply BOX %s", e.Path)
	}
	if patch.Binary(before.content) || patch.Binary(after.content) {
		return nil, false, forkbox.Errorf(forkbox.Invalid, op, "%q is binary: it has no hunks", e.Path).
			Hint("apply it as a whole: forkbox apply BOX %s", e.Path)
	}
	content, err = patch.Select(before.content, patch.Hunks(before.content, after.content), sel.Hunks, sel.Fine)
	if err != nil {
		return nil, false, forkbox.Errorf(forkbox.Invalid, op, "%q: %w", e.Path, err).
			Hint("forkbox diff --patch shows its hunks, numbered from 1 in each file")
	}
	return content, bytes.Equal(content, after.content), nil
}
