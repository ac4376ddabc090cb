package review

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// deletion takes a file away, or a directory with all that is in it, but not
// what the box was never shown.
func (p *Plan) deletion(ctx context.Context, e *Entry) (Step, error) {
	old, err := e.Sides.Old()
	if isNotExist(err) || p.losesForNothing(e) {
		return Step{}, nil // reality has deleted it, too; or what follows is refused
	}
	if err != nil {
		return Step{}, err
	}
	whole := func() (Step, error) {
		return Step{Items: []land.Item{{Path: e.Path, Op: land.Remove, Expect: &old.Identity}}}, nil
	}
	if old.Mode.IsDir() {
		return p.directoryDeletion(ctx, e, old, whole)
	}
	if p.View.Unresolved(e.Path) || e.Drifted && !p.asAtFence(ctx, e) {
		return p.conflict(e, "the box deleted it, and reality changed it after the fork", whole)
	}
	return whole()
}

// directoryDeletion looks at all that would go: reality may have changed
// something in it, and it may hold what the box was not shown.
func (p *Plan) directoryDeletion(ctx context.Context, e *Entry, old forkbox.Node, whole func() (Step, error)) (Step, error) {
	if err := p.rememberHalf(e); err != nil {
		return Step{}, err
	}
	var drifted string
	var kept []string
	var all []land.Item
	var below land.Tally
	err := e.Sides.Below(func(path string, n forkbox.Node, isKept bool) error {
		switch {
		case isKept:
			kept = append(kept, path)
			return nil
		case drifted == "" && p.View.sinceBelow(path, n) && !p.View.isAsAtFence(ctx, path, n):
			drifted = path
		}
		below.Add(rel(path, e.Path), n)
		n.Xattrs, n.Target = nil, ""
		all = append(all, land.Item{Path: path, Op: land.Remove, Node: n})
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
	default:
		whole = with(whole, &below)
	}
	if p.View.Unresolved(e.Path) {
		return p.conflict(e, "the box deleted it, and a sync left that undecided", whole)
	}
	if e.Drifted && e.Kind == forkbox.Deleted {
		return p.conflict(e, "the box deleted it, and reality changed it after the fork, or put another directory there", whole)
	}
	if drifted != "" {
		return p.conflict(e, fmt.Sprintf("the box deleted it, and reality changed %q in it after the fork", drifted), whole)
	}
	return whole()
}

// isAsAtFence says whether a file that reality touched after the fence has the
// bytes and the mode that it had then: it was linked to, or written anew.
func (v *View) isAsAtFence(ctx context.Context, path string, n forkbox.Node) bool {
	if v.Ancestors == nil || !n.Mode.IsRegular() || v.Unresolved(path) {
		return false
	}
	content, mode, known, absent, err := v.Ancestors.Base(ctx, path)
	if err != nil || !known || absent || !sameMode(mode, n.Mode) || int64(len(content)) != n.Size {
		return false
	}
	now, ok := v.sumOf(path, n)
	was := sha256.Sum256(content)
	return ok && bytes.Equal(now.Sum, was[:])
}

// with has what is planned for a directory go by what was seen in it: what
// comes into it from now on is not meant.
func with(whole func() (Step, error), below *land.Tally) func() (Step, error) {
	return func() (Step, error) {
		s, err := whole()
		for i := range s.Items {
			s.Items[i].Below = below
		}
		return s, err
	}
}

// rel is a path from a directory that it is in.
func rel(path, dir string) string { return strings.TrimPrefix(strings.TrimPrefix(path, dir), "/") }

// sourceless refuses a directory that was moved from what is not there any
// more. The box shows in it what reality has there now, or nothing; what is
// missing in it was never deleted, so that no choice makes it land.
func (p *Plan) sourceless(e *Entry, why string) (Step, error) {
	p.lost = e.Path
	return p.impossible(e, fmt.Sprintf("the box moved it from %q, which %s: give the move up (forkbox discard %s %q), or undo what reality did", e.From, why, p.View.Box.Name, e.Path))
}

// outOfWhichMoved is for sides of a directory that is lost.
type outOfWhichMoved interface {
	// MovedOut lists the directories in it that the box has elsewhere.
	MovedOut() ([]forkbox.Move, error)
}

// half is a directory that a box moved out of one that it deleted.
type half struct {
	forkbox.Move
	of string // the one that it deleted
}

// rememberHalf remembers what has to be moved out of a directory before that goes.
func (p *Plan) rememberHalf(e *Entry) error {
	s, ok := e.Sides.(outOfWhichMoved)
	if !ok {
		return nil
	}
	moves, err := s.MovedOut()
	for _, m := range moves {
		p.halves = append(p.halves, half{m, e.Path})
	}
	return err
}

// Whole is an error where a directory would go of which the box has a part
// elsewhere that does not land with it: that would be in neither.
func (p *Plan) Whole(op string) error {
	for _, h := range p.halves {
		if slices.ContainsFunc(p.moved, func(m forkbox.Move) bool { return forkbox.Within(h.From, m.From) }) {
			continue
		}
		err := forkbox.Errorf(forkbox.Conflict, op, "the box deleted %q and has %q of it as %q, which does not land with it", h.of, h.From, h.To).
			Hint("apply both: forkbox apply %s %s %s", p.View.Box.Name, h.of, h.To)
		return err.About(h.To, "it was moved out of what is deleted")
	}
	return nil
}

// intoWhichMoved is for sides of what was lost where a directory was moved to.
type intoWhichMoved interface{ MovedHere() (from string) }

// losesForNothing says that the directory which the box moved to where it
// deleted something cannot land.
func (p *Plan) losesForNothing(e *Entry) bool {
	s, ok := e.Sides.(intoWhichMoved)
	return ok && s.MovedHere() != "" && p.View.replaced(s.MovedHere())
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
			items[n-1].Below.Add(rel(item.Path, items[n-1].Path), item.Node)
			continue // goes with its directory
		}
		if !holds(item.Path) {
			item.Expect, item.Below = &item.Node.Identity, &land.Tally{}
			items = append(items, item)
		}
	}
	return items
}

// move carries a directory to where the box has it, with all that reality has
// in it now.
func (p *Plan) move(e *Entry) (Step, error) {
	old, err := e.Sides.Old()
	switch {
	case isNotExist(err):
		return p.sourceless(e, "reality has moved or deleted since")
	case err != nil:
		return Step{}, err
	case e.Drifted || p.View.Unresolved(e.Path):
		return p.sourceless(e, "reality may have put another directory in the place of since")
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
