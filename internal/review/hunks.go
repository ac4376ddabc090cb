package review

import (
	"bytes"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/patch"
)

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
