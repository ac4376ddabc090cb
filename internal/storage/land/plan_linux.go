package land

import (
	"context"
	"io"
	"os"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// plan is what a landing is to do, as its journals have it: the records in path
// order, and the parts of directories that are moved entrywise.
type plan struct {
	records *journal
	parts   *journal
	ranges  map[int]span // where the parts of a record are
	moved   []*record    // the moves, once they were read
}

// span is a part of a journal.
type span struct{ from, to int64 }

// part is something in a directory that the filesystem does not rename as a
// whole. The parts of one directory are in path order, itself first.
type part struct {
	Of   int           `json:"of"`  // number of the record
	Rel  string        `json:"rel"` // path below the directory
	Slot string        `json:"slot"`
	Obj  *files.Object `json:"obj"`
}

// create makes the empty journals of a plan.
func (p *plan) create(dir *os.File) (err error) {
	if p.records, err = newJournal(dir, planFile); err != nil {
		return err
	}
	p.parts, err = newJournal(dir, partsFile)
	return err
}

// read opens the journals of a plan that an earlier process may have made.
func (p *plan) read(dir *os.File) (err error) {
	if p.records, err = openJournal(dir, planFile); err != nil {
		return err
	}
	if p.parts, err = openJournal(dir, partsFile); err != nil {
		return err
	}
	return p.readRanges()
}

// readRanges finds where in the journal the parts of each record are.
func (p *plan) readRanges() error {
	l := p.parts.forward(0, p.parts.size)
	for at := int64(0); ; {
		line, err := l.next()
		if err == io.EOF {
			return nil
		}
		var x part
		if err := nextLine(&single{line}, &x); err != nil {
			return err
		}
		r, known := p.ranges[x.Of]
		if !known {
			r.from = at
		}
		at += int64(len(line)) + 1
		r.to = at
		p.ranges[x.Of] = r
	}
}

// single is lines of one line.
type single struct{ line []byte }

func (s *single) next() ([]byte, error) { return s.line, nil }

// begun says whether there is anything in it.
func (p *plan) begun() bool { return p.records.size > 0 }

// add writes a record down.
func (p *plan) add(r *record) error { return p.records.addRecord(*r) }

// addParts writes down the parts of a record, which add makes known.
func (p *plan) addParts(r *record, add func() error) error {
	from := p.parts.size
	err := add()
	p.ranges[r.N] = span{from, p.parts.size}
	return err
}

func (p *plan) addPart(x part) error {
	x.Rel = files.Pack(x.Rel)
	return p.parts.add(x)
}

func (p *plan) flush() error {
	if err := p.records.flush(); err != nil {
		return err
	}
	return p.parts.flush()
}

func (p *plan) sync() error {
	if err := p.records.sync(); err != nil {
		return err
	}
	return p.parts.sync()
}

func (p *plan) close() {
	p.records.close()
	p.parts.close()
}

// each visits the records in their order.
func (p *plan) each(visit func(*record) error) error { return p.eachWith(anything, visit) }

// eachWith visits those that have a trait.
func (p *plan) eachWith(t trait, visit func(*record) error) error {
	return eachWith(t, p.records.forward(0, p.records.size), visit)
}

// eachLeft visits them with what was left of each.
func (p *plan) eachLeft(lefts *journal, visit func(*record, *left) error) error {
	return eachLeftWith(anything, p.records.forward(0, p.records.size), ahead(lefts), visit)
}

// eachPart visits the parts of a record, a directory before what is in it.
func (p *plan) eachPart(r *record, visit func(*part) error) error {
	at := p.ranges[r.N]
	return eachPart(p.parts.forward(at.from, at.to), visit)
}

// eachPartBack visits them the other way around.
func (p *plan) eachPartBack(r *record, visit func(*part) error) error {
	at := p.ranges[r.N]
	return eachPart(p.parts.backward(at.from, at.to), visit)
}

func eachPart(l lines, visit func(*part) error) error {
	for {
		var p part
		err := nextLine(l, &p)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		p.Rel = files.Unpack(p.Rel)
		if err := visit(&p); err != nil {
			return err
		}
	}
}

// lastPart is the one that leaves first, and returns last.
func (p *plan) lastPart(r *record) (last part, err error) {
	at := p.ranges[r.N]
	err = nextLine(p.parts.backward(at.from, at.to), &last)
	return last, err
}

// visitor is what is done to the records of a plan on the way through it.
type visitor struct {
	move func(*record) error // the end of a move where it was
	item func(*record, *left) error
	attr func(*record, *left) error
}

// cancellable has a visitor stop when ctx ends.
func cancellable(ctx context.Context, v visitor) visitor {
	item := v.item
	v.item = func(r *record, l *left) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return item(r, l)
	}
	return v
}

// forth goes through a plan the way it lands: what moves is taken out of the
// way, deepest first, so that directories can swap places; then everything in
// path order; directories' own attributes last, deepest first, so that one
// that becomes read-only does not refuse what comes into it.
func (p *plan) forth(v visitor, lefts *journal) error {
	moves, err := p.moves()
	if err != nil {
		return err
	}
	for _, r := range moves {
		if err := v.move(r); err != nil {
			return err
		}
	}
	if err := eachLeftWith(acts, p.records.forward(0, p.records.size), ahead(lefts), v.item); err != nil {
		return err
	}
	return eachLeftWith(isAttr, p.records.backward(0, p.records.size), behind(lefts), onlyDirs(v.attr))
}

// back goes the same way in reverse.
func (p *plan) back(v visitor, lefts *journal) error {
	if err := eachLeftWith(isAttr, p.records.forward(0, p.records.size), ahead(lefts), onlyDirs(v.attr)); err != nil {
		return err
	}
	if err := eachLeftWith(acts, p.records.backward(0, p.records.size), behind(lefts), v.item); err != nil {
		return err
	}
	moves, err := p.moves()
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
		if !r.Old.IsDir() {
			return nil
		}
		return visit(r, l)
	}
}

// moves lists the moves, deepest first by where they come from. There are
// few: a directory that moved is one, whatever is in it.
func (p *plan) moves() ([]*record, error) {
	if p.moved != nil {
		return slices.Clone(p.moved), nil
	}
	moves := []*record{}
	err := p.eachWith(isMove, func(r *record) error {
		if r.Op == Move {
			moves = append(moves, r)
		}
		return nil
	})
	slices.SortStableFunc(moves, func(a, b *record) int { return forkbox.ComparePaths(b.From, a.From) })
	if err == nil {
		p.moved = moves
	}
	return slices.Clone(moves), err
}
