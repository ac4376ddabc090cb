package land

import (
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// visitor is what is done to the records of a plan on the way through it.
type visitor struct {
	move func(*record) error // the end of a move where it was
	item func(*record, *left) error
	attr func(*record, *left) error
}

// forth goes through a plan the way it lands: what moves is taken out of the
// way, deepest first, so that directories can swap places; then everything in
// path order; directories' own attributes last, deepest first, so that one
// that becomes read-only does not refuse what comes into it.
func (s *site) forth(v visitor, lefts *journal) error {
	moves, err := s.movesOf()
	if err != nil {
		return err
	}
	for _, r := range moves {
		if err := v.move(r); err != nil {
			return err
		}
	}
	if err := eachLeftWith(acts, s.plan.forward(0, s.plan.size), ahead(lefts), v.item); err != nil {
		return err
	}
	return eachLeftWith(isAttr, s.plan.backward(0, s.plan.size), behind(lefts), onlyDirs(v.attr))
}

// back goes the same way in reverse.
func (s *site) back(v visitor, lefts *journal) error {
	if err := eachLeftWith(isAttr, s.plan.forward(0, s.plan.size), ahead(lefts), onlyDirs(v.attr)); err != nil {
		return err
	}
	if err := eachLeftWith(acts, s.plan.backward(0, s.plan.size), behind(lefts), v.item); err != nil {
		return err
	}
	moves, err := s.movesOf()
	if err != nil {
		return err
	}
	slices.Reverse(moves)
	for _, r := range moves {
		if err := v.move(r); err != nil {
			return err
		}
	}
	return nil
}

func ahead(j *journal) lines {
	if j == nil {
		return nil
	}
	return j.forward(0, j.size)
}

func behind(j *journal) lines {
	if j == nil {
		return nil
	}
	return j.backward(0, j.size)
}

func onlyDirs(visit func(*record, *left) error) func(*record, *left) error {
	return func(r *record, l *left) error {
		if !r.Old.isDir() {
			return nil
		}
		return visit(r, l)
	}
}

// movesOf lists the moves, deepest first by where they come from. There are
// few: a directory that moved is one, whatever is in it.
func (s *site) movesOf() ([]*record, error) {
	if s.moved != nil {
		return slices.Clone(s.moved), nil
	}
	moves := []*record{}
	err := eachWith(isMove, s.plan.forward(0, s.plan.size), func(r *record) error {
		if r.Op == Move {
			moves = append(moves, r)
		}
		return nil
	})
	slices.SortStableFunc(moves, func(a, b *record) int { return forkbox.ComparePaths(b.From, a.From) })
	if err == nil {
		s.moved = moves
	}
	return slices.Clone(moves), err
}

// landing is the visitor that lands. Any error stops it.
func (s *site) landing() visitor {
	return visitor{
		move: s.takeOut,
		item: func(r *record, _ *left) error {
			switch {
			case r.flips():
				return s.flip(r)
			case r.Op == Move:
				return s.bringIn(r)
			case r.Op == Attr && !r.Old.isDir():
				return s.changeAttrs(r)
			}
			return nil
		},
		attr: func(r *record, _ *left) error { return s.changeAttrs(r) },
	}
}

// driver takes a landing to one side whatever state each of its flips is in.
// It goes on where something cannot be done, so that as little as possible
// stays on the wrong side.
type driver struct {
	*site
	to     bool // the side: landed, or not
	skip   map[int]bool
	turned map[int]bool           // what was on the other side, and is on this one now
	force  func(path string) bool // nil: this is no undo
	torn   []forkbox.Caution
	err    error
}

// hasTurned remembers a record whose times are our doing now.
func (d *driver) hasTurned(r *record) {
	if d.turned != nil {
		d.turned[r.N] = true
	}
}

// turnedBefore is hasTurned for what is where it belongs already: a recovery
// that was itself interrupted may have put it back. What has another ctime and
// the same mtime was not written to.
func (d *driver) turnedBefore(r *record, now *object) {
	if now.is(r.Old) && now.Ctime != r.Old.Ctime && now.Mtime == r.Old.Mtime {
		d.hasTurned(r)
	}
}

// note sorts what went wrong with a record: the tree changed under it, or the
// machine failed.
func (d *driver) note(r *record, p string, err error) error {
	switch {
	case err == nil:
	case d.force != nil:
		return err // an undo stops, and goes back where it came from
	case forkbox.CodeOf(err) == forkbox.Conflict:
		d.leave(p, d.whereKept(r, err.Error()))
	case d.err == nil:
		d.err = err
	}
	return nil
}

// whereKept has a reason say where the other object is, if it does not yet.
func (d *driver) whereKept(r *record, why string) string {
	if r.Place < 0 || d.places[r.Place].fd < 0 || strings.Contains(why, keptAs) {
		return why
	}
	return d.kept(r, why)
}

// aside remembers a record that is left as it is.
func (d *driver) aside(r *record, err error) error {
	if err != nil && d.skip != nil {
		d.skip[r.N] = true
	}
	return err
}

func (d *driver) leave(p, why string) {
	d.torn = append(d.torn, forkbox.Caution{Path: p, Why: why})
}

func (d *driver) visitor() visitor {
	return visitor{
		move: func(r *record) error { return d.note(r, r.From, d.moveEnd(r, r.From, d.to)) },
		item: func(r *record, l *left) error {
			switch {
			case d.skip[r.N]:
			case r.flips():
				return d.note(r, r.Path, d.aside(r, d.turn(r, l)))
			case r.Op == Move:
				return d.note(r, r.Path, d.moveEnd(r, r.Path, !d.to))
			case r.Op == Attr && !r.Old.isDir():
				return d.note(r, r.Path, d.turnAttrs(r, l))
			}
			return nil
		},
		attr: func(r *record, l *left) error { return d.note(r, r.Path, d.turnAttrs(r, l)) },
	}
}

// reach is how far a landing came with what is changed in place. Of a rename
// the inodes tell that; attributes that another process has changed do not.
type reach struct {
	files int // the highest number of a file
	dirs  int // the lowest of a directory: they come last one first
}

func (c *reach) note(r *record) {
	switch {
	case c == nil:
	case r.Old.isDir():
		c.dirs = min(c.dirs, r.N)
	default:
		c.files = max(c.files, r.N)
	}
}

// has says whether a record may have been changed.
func (c *reach) has(r *record) bool {
	switch {
	case c == nil:
		return true
	case r.Old.isDir():
		return r.N >= c.dirs
	}
	return r.N <= c.files
}
