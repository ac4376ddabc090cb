package land

import (
	"io"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
)

// part is something in a directory that the filesystem does not rename as a
// whole. The parts of one directory are in path order, itself first.
type part struct {
	Of   int     `json:"of"`  // number of the record
	Rel  string  `json:"rel"` // path below the directory
	Slot string  `json:"slot"`
	Obj  *object `json:"obj"`
}

// plans writes down the parts of all such directories. That is done when all
// items are known: what is moved out of a directory is no part of it.
func (l *Landing) planParts() error {
	err := eachWith(isEntrywise, l.plan.forward(0, l.plan.size), func(r *record) error {
		from := l.parts.size
		var found Tally
		if err := l.planPart(r, r.At, "", &found); err != nil {
			return failed(opLand, r.Path, err)
		}
		l.ranges[r.N] = span{from, l.parts.size}
		if r.flips() && found != r.Below.without(l.movedOut[r.N]) {
			return conflict(opLand, r.Path, "it changed meanwhile")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.parts.flush()
}

func (l *Landing) planPart(r *record, top, rel string, found *Tally) error {
	p := path.Join(top, rel)
	if rel != "" && l.movesAway(p) {
		return nil
	}
	h, err := l.openAt(p)
	if err != nil {
		return err
	}
	o, err := fstat(h.fd)
	if err == nil && o.isDir() {
		o.Xattrs = h.xattrs()
	}
	unix.Close(h.fd)
	if err != nil {
		return err
	}
	if rel != "" {
		found.Add(rel, o.node())
	}
	slot := r.Slot + "." + strconv.FormatUint(found.Count+1, 10)
	if err := l.parts.add(part{r.N, pack(rel), slot, o}); err != nil || !o.isDir() {
		return err
	}
	dir, err := l.tree.dir(p)
	if err != nil {
		return err
	}
	names, err := linux.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := l.planPart(r, top, path.Join(rel, name), found); err != nil {
			return err
		}
	}
	return nil
}

func (l *Landing) movesAway(p string) bool {
	for _, m := range l.moves {
		if m.From == p {
			return true
		}
	}
	return false
}

// readRanges finds where in the journal the parts of each record are.
func (s *site) readRanges() error {
	l := s.parts.forward(0, s.parts.size)
	for at := int64(0); ; {
		line, err := l.next()
		if err == io.EOF {
			return nil
		}
		var p part
		if err := nextLine(&single{line}, &p); err != nil {
			return err
		}
		r, known := s.ranges[p.Of]
		if !known {
			r.from = at
		}
		at += int64(len(line)) + 1
		r.to = at
		s.ranges[p.Of] = r
	}
}

// single is lines of one line.
type single struct{ line []byte }

func (s *single) next() ([]byte, error) { return s.line, nil }

func (s *site) eachPart(l lines, visit func(*part) error) error {
	for {
		var p part
		err := nextLine(l, &p)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		p.Rel = unpack(p.Rel)
		if err := visit(&p); err != nil {
			return err
		}
	}
}
