package review

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/land"
	"github.com/forkbox/forkbox/internal/merge"
	"github.com/forkbox/forkbox/internal/patch"
	"github.com/forkbox/forkbox/internal/scope"
)

// Plan makes an apply of a box's changes: what to do at each path, what is
// refused, and what deserves a second look.
type Plan struct {
	View   *View
	Spec   forkbox.ApplySpec
	Chosen *Chosen
	// KeepOwner is for a daemon that is not root: it can give files to nobody
	// else.
	KeepOwner bool

	Conflicts []forkbox.Caution
	Cautions  []forkbox.Caution
	Left      int // changes that were selected and are not landed

	hunks   map[string]forkbox.HunkSelection
	moved   []forkbox.Move  // directories
	several map[string]bool // paths of files that land and have other names
}

// Step is what an apply does for one change.
type Step struct {
	Items  []land.Item
	Landed forkbox.Landed
	// Sum is of the box's content, where what lands is something else.
	Sum *[32]byte
	// Kept is the content that becomes the path's base: what landed, where
	// that is not all that the box has.
	Kept []byte
}

// Tag is what the journal of an apply remembers about a path.
type Tag struct {
	Kind    forkbox.Kind     `json:"kind"`
	Merged  bool             `json:"merged,omitempty"`
	Partial bool             `json:"partial,omitempty"`
	Drifted bool             `json:"drifted,omitempty"` // reality had changed it after the fence
	Box     forkbox.Identity `json:"box"`
}

// labels of conflict markers in reality.
var labels = merge.Labels{Ours: "reality", Theirs: "box"}

// Next plans one change. A step without items lands nothing.
func (p *Plan) Next(ctx context.Context, e *Entry) (Step, error) {
	if e.Hidden && !p.Chosen.named(e.Path) {
		p.Left++
		return Step{}, nil
	}
	if err := p.caution(e); err != nil {
		return Step{}, err
	}
	s, err := p.step(ctx, e)
	if err != nil || len(s.Items) == 0 {
		return s, err
	}
	s.Landed.Path, s.Landed.Kind = e.Path, e.Kind
	return s, p.tag(e, &s)
}

func (p *Plan) step(ctx context.Context, e *Entry) (Step, error) {
	switch e.Kind {
	case forkbox.Deleted:
		return p.deletion(ctx, e)
	case forkbox.Renamed:
		return p.move(e)
	case forkbox.Added:
		return p.addition(ctx, e)
	case forkbox.Mode:
		if e.Link == "" {
			return p.attributes(ctx, e)
		}
	}
	return p.replacement(ctx, e)
}

// tag records with every item whose change it is, and what the box had.
func (p *Plan) tag(e *Entry, s *Step) error {
	t := Tag{Kind: e.Kind, Merged: s.Landed.Merged, Partial: s.Landed.Partial, Drifted: e.Drifted}
	if e.Kind != forkbox.Deleted {
		n, err := e.New()
		if err != nil {
			return err
		}
		t.Box = n.Identity
	}
	raw, err := json.Marshal(t)
	for i := range s.Items {
		s.Items[i].Tag = raw
		s.Items[i].KeepOwner = p.KeepOwner
	}
	return err
}

func (p *Plan) caution(e *Entry) error {
	var n forkbox.Node
	if e.Kind != forkbox.Deleted {
		var err error
		if n, err = e.New(); err != nil {
			return err
		}
	}
	for _, why := range scope.Cautions(e.Change, n, p.View.Root, p.View.Box.Owner.Home) {
		p.Cautions = append(p.Cautions, forkbox.Caution{Path: e.Path, Why: why})
	}
	return nil
}

// conflict decides a path that cannot be merged: refused, or as the caller
// chose. whole says what landing the box's version takes.
func (p *Plan) conflict(e *Entry, why string, whole func() (Step, error)) (Step, error) {
	switch p.Spec.Conflict {
	case forkbox.Theirs:
		return whole()
	case forkbox.Ours:
		p.Left++
		return Step{}, nil
	case forkbox.Markers:
		why += "; it cannot be shown with markers: choose theirs or ours"
	}
	p.Conflicts = append(p.Conflicts, forkbox.Caution{Path: e.Path, Why: why})
	return Step{}, nil
}

// impossible is a conflict that the box cannot win.
func (p *Plan) impossible(e *Entry, why string) (Step, error) {
	if p.Spec.Conflict == forkbox.Ours {
		p.Left++
		return Step{}, nil
	}
	p.Conflicts = append(p.Conflicts, forkbox.Caution{Path: e.Path, Why: why})
	return Step{}, nil
}

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
	f, err := openRegular(at)
	if err != nil {
		return false
	}
	defer f.Close()
	return sameFile(f, n, e.Sides.OpenNew)
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
	sum := sha256.Sum256(boxContent)
	if content == nil {
		content = []byte{}
	}
	item := land.Item{Path: e.Path, Op: land.Put, Node: n, Bytes: content, Expect: expect}
	return Step{Items: []land.Item{item}, Sum: &sum, Kept: content}, nil
}

// deletion takes a file away, or a directory with all that is in it, but not
// what the box was never shown.
func (p *Plan) deletion(ctx context.Context, e *Entry) (Step, error) {
	old, err := e.Sides.Old()
	if isNotExist(err) {
		return Step{}, nil // reality has deleted it, too
	}
	if err != nil {
		return Step{}, err
	}
	whole := func() (Step, error) {
		return Step{Items: []land.Item{{Path: e.Path, Op: land.Remove, Expect: &old.Identity}}}, nil
	}
	if old.Mode.IsDir() {
		return p.directoryDeletion(e, old, whole)
	}
	if p.unresolved(e) || e.Drifted && !p.asAtFence(ctx, e) {
		return p.conflict(e, "the box deleted it, and reality changed it after the fork", whole)
	}
	return whole()
}

// directoryDeletion looks at all that would go: reality may have changed
// something in it, and it may hold what the box was not shown.
func (p *Plan) directoryDeletion(e *Entry, old forkbox.Node, whole func() (Step, error)) (Step, error) {
	var drifted string
	var kept []string
	var all []land.Item
	err := e.Sides.Below(func(path string, n forkbox.Node, isKept bool) error {
		switch {
		case isKept:
			kept = append(kept, path)
			return nil
		case drifted == "" && p.View.sinceBelow(path, n):
			drifted = path
		}
		id := n.Identity
		all = append(all, land.Item{Path: path, Op: land.Remove, Expect: &id, Node: forkbox.Node{Mode: n.Mode}})
		return nil
	})
	if err != nil {
		return Step{}, err
	}
	switch {
	case len(kept) > 0 && e.Kind == forkbox.Type:
		return p.impossible(e, fmt.Sprintf("it is a directory in reality and holds %q: the box was not shown that, and it cannot be replaced", kept[0]))
	case len(kept) > 0:
		whole = func() (Step, error) { return Step{Items: around(all, kept)}, nil }
	}
	if p.unresolved(e) {
		return p.conflict(e, "the box deleted it, and a sync left that undecided", whole)
	}
	if drifted != "" {
		return p.conflict(e, fmt.Sprintf("the box deleted it, and reality changed %q in it after the fork", drifted), whole)
	}
	return whole()
}

// around deletes everything but what is kept and the directories it lies in:
// of each subtree without such a thing, the top.
func around(all []land.Item, kept []string) []land.Item {
	holds := func(dir string) bool {
		for _, k := range kept {
			if forkbox.Within(k, dir) {
				return true
			}
		}
		return false
	}
	var items []land.Item
	for _, item := range all {
		if n := len(items); n > 0 && forkbox.Within(item.Path, items[n-1].Path) {
			continue // goes with its directory
		}
		if !holds(item.Path) {
			items = append(items, item)
		}
	}
	return items
}

// move carries a directory to where the box has it, with all that reality has
// in it now.
func (p *Plan) move(e *Entry) (Step, error) {
	old, err := e.Sides.Old()
	if err != nil {
		return Step{}, err
	}
	kept := ""
	err = e.Sides.Below(func(path string, _ forkbox.Node, isKept bool) error {
		if isKept && kept == "" {
			kept = path
		}
		return nil
	})
	if err != nil {
		return Step{}, err
	}
	if kept != "" {
		return p.impossible(e, fmt.Sprintf("it was moved from %q, which holds %q: the box was not shown that, and it cannot be moved along", e.From, kept))
	}
	p.moved = append(p.moved, forkbox.Move{From: e.From, To: e.Path})
	items := []land.Item{{Path: e.Path, Op: land.Move, From: e.From, Expect: &old.Identity}}
	if len(e.Attrs) > 0 {
		n, err := e.New()
		if err != nil {
			return Step{}, err
		}
		items = append(items, land.Item{Path: e.Path, Op: land.Attr, Node: n, Expect: &old.Identity})
	}
	return Step{Items: items}, nil
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
	if !e.Drifted && !p.unresolved(e) {
		return whole()
	}
	n, err := e.New()
	if err != nil {
		return Step{}, err
	}
	mode, known := p.modeOf(ctx, e, old, n)
	switch {
	case !known || p.unresolved(e):
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
		return p.directoryDeletion(e, old, whole)
	case e.Drifted || p.unresolved(e):
		return p.merge(ctx, e, old, whole)
	}
	if _, ok := p.selection(e); ok {
		before, err := readSide(e.Sides.Old, e.Sides.OpenOld)
		if err != nil {
			return Step{}, err
		}
		return p.partial(e, before, &old.Identity)
	}
	return whole()
}

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

// unresolved says whether an earlier sync left a path undecided.
func (p *Plan) unresolved(e *Entry) bool {
	for _, u := range p.View.Box.Unresolved {
		if u == e.Path {
			return true
		}
	}
	return false
}

// asAtFence says whether reality's file is what it was at the fence, although
// something was done to it.
func (p *Plan) asAtFence(ctx context.Context, e *Entry) bool {
	base, _, err := p.View.base(ctx, e.Path)
	if err != nil || !base.there {
		return false
	}
	now, err := readSide(e.Sides.Old, e.Sides.OpenOld)
	return err == nil && now.git && sameMode(base.mode, now.mode) && bytes.Equal(now.content, base.content)
}

// modeOf is the mode that is meant, where it is known which side changed it.
// Of owners and extended attributes that is never known.
func (p *Plan) modeOf(ctx context.Context, e *Entry, old, new forkbox.Node) (mode fs.FileMode, known bool) {
	base, _, err := p.View.base(ctx, e.Path)
	if err != nil || e.differs("owner", "xattr") {
		return 0, false
	}
	return trio{base: base, reality: side{mode: old.Mode}, inBox: side{mode: new.Mode}}.mode()
}

// Rootless says whether this process can give files to others.
func Rootless() bool { return os.Geteuid() != 0 }

// Parent plans a directory that is not selected and has to be there for what
// is.
func (p *Plan) Parent(e *Entry) (land.Item, error) {
	s, err := p.put(e, nil)
	if err == nil {
		err = p.tag(e, &s)
	}
	if err != nil {
		return land.Item{}, err
	}
	return s.Items[0], nil
}
