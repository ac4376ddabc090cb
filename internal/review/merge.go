package review

import (
	"bytes"
	"context"
	"io/fs"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/merge"
	"github.com/forkbox/forkbox/internal/review/patch"
)

// trio is one file three times: at the fence, in reality now, in the box.
type trio struct {
	base           side
	known          bool // the base is; it may be known to have been nothing
	reality, inBox side
}

func (v *View) trio(ctx context.Context, e *Entry) (t trio, err error) {
	if t.reality, err = e.realitySide(); err != nil {
		return t, err
	}
	if t.inBox, err = e.newSide(); err != nil || t.closed() {
		return t, err
	}
	t.base, t.known, err = v.base(ctx, e)
	return t, err
}

// closed says whether the box's owner may not read one of them. What was at the
// fence is not looked at then, either: it is the same file.
func (t trio) closed() bool { return t.reality.closed || t.inBox.closed }

// notMergeable says why lines cannot be merged.
func (t trio) notMergeable() string {
	if t.closed() {
		return "you may not read all of it"
	}
	return "it is not text"
}

// mergeable says whether lines can be merged: all that is there is text.
func (t trio) mergeable() bool {
	for _, s := range []side{t.base, t.reality, t.inBox} {
		if s.there && (!s.git || !s.mode.IsRegular() || patch.Binary(s.content)) {
			return false
		}
	}
	return true
}

// same says whether a base is known and the other side is still that.
func (base side) same(s side) bool {
	return base.there && base.git && s.there && s.git && bytes.Equal(s.content, base.content) && sameMode(base.mode, s.mode)
}

// isText says whether content is all of a file.
func (s side) isText() bool { return s.git && s.mode.IsRegular() }

// mode takes the change of whichever side changed it. known is false where that
// cannot be told: git remembers only whether a file can be executed, and one
// that a user closed to others must not be opened again by a guess.
func (t trio) mode() (mode fs.FileMode, known bool) {
	const exec = 0o111
	switch base := t.base.mode; {
	case t.reality.mode == t.inBox.mode:
		return t.inBox.mode, true
	case !t.base.there:
		return 0, false
	case base == t.reality.mode:
		return t.inBox.mode, true
	case base == t.inBox.mode:
		return t.reality.mode, true
	case base.IsDir(): // git has none
		return 0, false
	case t.reality.mode&^exec != t.inBox.mode&^exec || sameMode(base, t.reality.mode) == sameMode(base, t.inBox.mode):
		return 0, false
	case sameMode(base, t.inBox.mode):
		return t.reality.mode, true
	}
	return t.inBox.mode, true
}

// attributes says what mode a merged file gets, where all of its attributes are
// known. What owners and extended attributes were is not recorded.
func (t trio) attributes(e *Entry) (mode fs.FileMode, known bool) {
	if !t.reality.mode.IsRegular() || !t.inBox.mode.IsRegular() {
		return t.inBox.mode, true
	}
	mode, known = t.mode()
	return mode, known && !e.differs("owner", "xattr")
}

// merge lands a file that reality changed after the fork as well: merged three
// ways where it is known what both began from.
func (p *Plan) merge(ctx context.Context, e *Entry, old forkbox.Node, whole func() (Step, error)) (Step, error) {
	t, err := p.View.trio(ctx, e)
	if err != nil {
		return Step{}, err
	}
	box := t.inBox.content
	if _, ok := p.selection(e); ok {
		// Hunks are numbered in the patch against the base where it is known.
		before := t.reality
		if t.base.there {
			before = t.base
		}
		picked, all, err := p.pick(e, before, t.inBox)
		if err != nil {
			return Step{}, err
		}
		// A mode is no hunk; it lands with the whole file.
		all = all && t.inBox.mode == t.reality.mode
		t.inBox.content, t.inBox.mode = picked, t.reality.mode
		whole = func() (Step, error) { return p.putBytes(e, picked, box, t.inBox.mode, &old.Identity) }
		s, err := p.mergeLines(e, t, box, old, whole)
		s.Landed.Partial = s.Landed.Partial || !all
		return s, err
	}
	return p.mergeLines(e, t, box, old, whole)
}

func (p *Plan) mergeLines(e *Entry, t trio, box []byte, old forkbox.Node, whole func() (Step, error)) (Step, error) {
	asIs := t.mergeable() && !e.Drifted && p.Spec.Conflict == forkbox.Markers // the sync's markers are what is asked for
	if p.View.Unresolved(e.Path) && !asIs && (!t.mergeable() || merge.HasMarkers(t.inBox.content)) {
		return p.conflictLeftOpen(e, t, whole)
	}
	if p.View.Unresolved(e.Path) && !e.Drifted {
		return whole()
	}
	mode, known := t.attributes(e)
	switch {
	case t.base.there && !known:
		return p.conflict(e, "reality changed it after the fork, its attributes differ, and it is not known who changed them", whole)
	case t.base.same(t.reality) && !t.inBox.isText():
		return whole() // too large to be held, or no file
	case t.base.same(t.reality):
		return p.putBytes(e, t.inBox.content, box, mode, &old.Identity)
	case (t.base.same(t.inBox) || p.View.onlyRewrote(e, t)) && mode == t.reality.mode:
		return Step{}, nil // the box did nothing to it
	case !t.mergeable():
		return p.conflict(e, "both changed it after the fork, and "+t.notMergeable(), whole)
	case !t.base.there:
		return p.twoWay(e, t, box, old, whole)
	}
	m := merge.Three(t.base.content, t.reality.content, t.inBox.content, labels)
	if m.Conflicts > 0 && p.Spec.Conflict != forkbox.Markers {
		return p.conflictInLines(e, "both changed the same lines after the fork", whole)
	}
	if m.Conflicts == 0 && bytes.Equal(m.Content, t.reality.content) && mode == t.reality.mode {
		return Step{}, nil // reality has it already
	}
	return p.putMerged(e, m.Content, t.inBox, box, mode, old)
}

// putMerged lands lines of both sides. The next merge starts from what the box
// gave to it.
func (p *Plan) putMerged(e *Entry, content []byte, given side, box []byte, mode fs.FileMode, old forkbox.Node) (Step, error) {
	s, err := p.putBytes(e, content, box, mode, &old.Identity)
	s.Landed.Merged = true
	s.Kept, s.KeptMode = append([]byte{}, given.content...), given.mode
	return s, err
}

// conflictLeftOpen is for a file that a sync left undecided. Where reality has
// changed a text again, another sync brings that into the box as well.
func (p *Plan) conflictLeftOpen(e *Entry, t trio, whole func() (Step, error)) (Step, error) {
	switch {
	case !t.mergeable():
		return p.conflict(e, "a sync left it undecided, and it is not text", whole)
	case e.Drifted:
		return p.conflictInLines(e, "a sync left it undecided, and reality has changed it again", whole)
	case p.Spec.Conflict == forkbox.Refuse:
		p.Marked++
	}
	return p.conflict(e, "a sync left it undecided: settle its markers in the box", whole)
}

// twoWay: it is not known what the two began from.
func (p *Plan) twoWay(e *Entry, t trio, box []byte, old forkbox.Node, whole func() (Step, error)) (Step, error) {
	if p.Spec.Conflict != forkbox.Markers {
		why := "reality changed it after the fork, and what it was then is not known"
		if t.known {
			why = "both made it after the fork"
		}
		return p.conflictInLines(e, why, whole)
	}
	m := merge.Two(t.reality.content, t.inBox.content, labels)
	return p.putMerged(e, m.Content, t.inBox, box, t.inBox.mode, old)
}
