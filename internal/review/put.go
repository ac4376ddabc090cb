package review

import (
	"bytes"
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land"
	"github.com/forkbox/forkbox/internal/storage/land/sums"
)

// addition: reality has nothing there.
func (p *Plan) addition(ctx context.Context, e *Entry) (Step, error) {
	whole := func() (Step, error) { return p.put(e, nil) }
	deleted, err := p.View.deletedSince(ctx, e)
	if err != nil {
		return Step{}, err
	}
	if deleted && !e.Hidden {
		e.Drifted = true // for the receipt: an undo makes it a conflict again
		return p.conflict(e, "reality deleted it after the fork", whole)
	}
	if p.View.Unresolved(e.Path) {
		return p.conflict(e, "the box changed it, reality deleted it, and a sync left that undecided", whole)
	}
	if _, ok := p.selection(e); ok {
		return p.partial(e, side{}, nil)
	}
	return whole()
}

// put lands all of what the box has.
func (p *Plan) put(e *Entry, expect *forkbox.Identity) (Step, error) {
	n, err := e.New()
	if err != nil {
		return Step{}, err
	}
	item := land.Item{Path: e.Path, Op: land.Put, Node: n, Link: e.Link, Expect: expect}
	if n.Mode.IsRegular() {
		item.Content = e.Sides.OpenNew
	}
	if other := p.landedName(e, n); other != "" {
		item.Link = other
		return Step{Items: []land.Item{item}}, nil
	}
	if e.Link != "" && !p.linkable(e, n) {
		if e.Kind == forkbox.Linked {
			p.Left++ // it is nothing but a link to what does not land
			return Step{}, nil
		}
		item.Link = ""
	}
	if n.Nlink > 1 {
		if p.several == nil {
			p.several = map[string]bool{}
		}
		p.several[e.Path] = true
	}
	return Step{Items: []land.Item{item}}, nil
}

// landedName is another name of the box's file that landed before and that
// reality still has as it landed: this one becomes a link to it, whichever of
// them the box made first.
func (p *Plan) landedName(e *Entry, n forkbox.Node) string {
	if n.Nlink < 2 || n.Mode.IsDir() {
		return ""
	}
	var names []string
	for at, m := range p.View.Marks.ofInode(n.Ino) {
		if m.Whole && !m.Merged && !m.Deleted && m.Reality.Ctime != 0 && m.Box.Dev == n.Dev {
			names = append(names, at)
		}
	}
	slices.Sort(names)
	for _, at := range names {
		other := *e
		other.Link = at
		if at != e.Path && !p.several[at] && p.linkable(&other, n) {
			return at
		}
	}
	return ""
}

// linkable says whether a hard link to another path of the box gives in reality
// what the box has: the other one lands as well, or is there already, the same.
func (p *Plan) linkable(e *Entry, n forkbox.Node) bool {
	if p.several[e.Link] {
		return true
	}
	at := p.located(e.Link)
	if !n.Mode.IsRegular() {
		return sameOther(at, n)
	}
	f, err := OpenRegular(at)
	if err != nil {
		return false
	}
	defer f.Close()
	return p.View.mayReadOpen(f) && sameFile(f, n, e.Sides.OpenNew)
}

// located is where reality has what it will have at a path when the directories
// that are planned to move have moved.
func (p *Plan) located(path string) string {
	best := forkbox.Move{}
	for _, m := range p.moved {
		if forkbox.Within(path, m.To) && len(m.To) > len(best.To) {
			best = m
		}
	}
	return best.From + strings.TrimPrefix(path, best.To)
}

// putBytes lands a content that is neither side's.
func (p *Plan) putBytes(e *Entry, content, boxContent []byte, mode fs.FileMode, expect *forkbox.Identity) (Step, error) {
	n, err := e.New()
	if err != nil {
		return Step{}, err
	}
	n.Mode, n.Size = mode, int64(len(content))
	sum := sums.OfBytes(boxContent)
	if content == nil {
		content = []byte{}
	}
	item := land.Item{Path: e.Path, Op: land.Put, Node: n, Bytes: content, Expect: expect}
	return Step{Items: []land.Item{item}, Sum: &sum, Kept: content, KeptMode: mode}, nil
}

// attributes sets mode, owner and extended attributes of what stays.
func (p *Plan) attributes(ctx context.Context, e *Entry) (Step, error) {
	old, err := e.Sides.Old()
	if err != nil {
		return Step{}, err
	}
	whole := func() (Step, error) {
		n, err := e.New()
		if err == nil && !n.Mode.IsDir() && n.Nlink > 1 {
			return p.put(e, &old.Identity) // its other names are to be links to it
		}
		item := land.Item{Path: e.Path, Op: land.Attr, Node: n, Expect: &old.Identity}
		if n.Mode.IsRegular() {
			item.Content = e.Sides.OpenOld // where it must be a copy, of what reality has
		}
		return Step{Items: []land.Item{item}}, err
	}
	if !e.Drifted && !p.View.Unresolved(e.Path) {
		return whole()
	}
	n, err := e.New()
	if err != nil {
		return Step{}, err
	}
	mode, known := p.modeOf(ctx, e, old, n)
	switch {
	case !known || p.View.Unresolved(e.Path):
		return p.conflict(e, "the box changed its attributes, and reality changed it after the fork", whole)
	case mode == old.Mode:
		return Step{}, nil // the box has what reality had
	}
	return whole()
}

// replacement lands another content or type where reality has something.
func (p *Plan) replacement(ctx context.Context, e *Entry) (Step, error) {
	old, err := e.Sides.Old()
	if isNotExist(err) {
		return p.addition(ctx, e)
	}
	if err != nil {
		return Step{}, err
	}
	whole := func() (Step, error) { return p.put(e, &old.Identity) }
	switch {
	case e.Kind == forkbox.Type && old.Mode.IsDir():
		return p.directoryDeletion(ctx, e, old, whole)
	case e.Drifted || p.View.Unresolved(e.Path):
		return p.merge(ctx, e, old, whole)
	}
	if _, ok := p.selection(e); ok {
		before, err := e.realitySide()
		if err != nil {
			return Step{}, err
		}
		return p.partial(e, before, &old.Identity)
	}
	return whole()
}

// asAtFence says whether reality's file is what it was at the fence, although
// something was done to it.
func (p *Plan) asAtFence(ctx context.Context, e *Entry) bool {
	base, _, err := p.View.base(ctx, e)
	if err != nil || !base.there {
		return false
	}
	now, err := e.realitySide()
	return err == nil && now.git && sameMode(base.mode, now.mode) && bytes.Equal(now.content, base.content)
}

// modeOf is the mode that is meant, where it is known which side changed it.
// Of owners and extended attributes that is never known.
func (p *Plan) modeOf(ctx context.Context, e *Entry, old, new forkbox.Node) (mode fs.FileMode, known bool) {
	base, _, err := p.View.base(ctx, e)
	if err != nil || e.differs("owner", "xattr") {
		return 0, false
	}
	return trio{base: base, reality: side{mode: old.Mode}, inBox: side{mode: new.Mode}}.mode()
}
