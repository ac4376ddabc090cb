package land

import (
	"slices"

	"golang.org/x/sys/unix"
)

// What a landing or an undo took away is compared, when all of it is done, with
// what it was meant to take: whatever another process did to it until then, by
// name or through a descriptor, shows. And what it put is compared before it
// counts as its own doing: an edit that came right after is not.

// conclude makes the flips durable, writes down what they left, and only then
// says that they are done. look tells what a record left; its error says that
// something was taken away that should not have been.
func (s *site) conclude(to stage, name string, look func(*record) (left, error)) error {
	if err := s.syncAll(); err != nil {
		return err
	}
	op := opLand
	if to == undone {
		op = opUndo
	}
	bytes, err := s.weigh()
	if err == nil {
		err = s.writeLeft(name, look)
	}
	if err != nil {
		return wrap(op, err)
	}
	return wrap(op, mark(s.dir, marker{Stage: to, Bytes: bytes, Discard: !s.cfg.Keep}))
}

// notConcluded takes back a marker which says that something is done, and which
// may not last: what is on the way back when a crash comes is not done.
func (s *site) notConcluded(to, at stage) error {
	m, err := readMarker(s.cfg.Dir)
	if err != nil || m.Stage != to {
		return err
	}
	return mark(s.dir, marker{Stage: at, Discard: m.Discard})
}

// writeLeft records what is at every path, and in every slot.
func (s *site) writeLeft(name string, look func(*record) (left, error)) error {
	next, dir := name+".next", int(s.dir.Fd())
	if err := unlink(dir, next, 0); err != nil && err != unix.ENOENT {
		return err
	}
	j, err := newJournal(s.dir, next)
	if err != nil {
		return err
	}
	defer j.close()
	err = s.who.do(func() error {
		return each(s.plan.forward(0, s.plan.size), func(r *record) error {
			l, err := look(r)
			if err != nil {
				return err
			}
			return j.add(l)
		})
	})
	if err == nil {
		err = j.sync()
	}
	if err != nil {
		_ = unlink(dir, next, 0) // on a full disk the way back needs the room
		return err
	}
	return rename(dir, next, dir, name, 0)
}

// landedLeft is what a landing left.
func (s *site) landedLeft(r *record) (l left, err error) {
	l = left{N: r.N, Now: s.own(r.Path, s.putBy(r))}
	switch {
	case r.flips():
		l.Slot, err = s.displaced(r)
		l.Below = s.weights[inPlace{r.Place, r.Slot}]
	case r.Link != "":
		l.Slot = s.linked(r)
	}
	return l, err
}

// linked is the file that a record is another name of: so it has another time.
func (s *site) linked(r *record) *object {
	if other, err := s.tree.look(r.Link); err == nil && r.New.is(other) && r.New.sameContent(other) {
		return other
	}
	return nil
}

// putBy is what a landing put at a record's path; nil is nothing.
func (s *site) putBy(r *record) *object {
	switch r.Op {
	case Put:
		return r.New
	case Attr, Move:
		return s.stays(r, r.Path)
	}
	if now, err := s.tree.look(r.Path); err != nil || !now.isDir() {
		return nil
	}
	// Something else may have been moved to where it was removed.
	moves, err := s.movesOf()
	i := slices.IndexFunc(moves, func(m *record) bool { return m.Path == r.Path })
	if err != nil || i < 0 {
		return nil
	}
	return s.stays(moves[i], r.Path)
}

// stays is what a record did not replace, as it should be at p now: its
// attributes may be others. overlayfs may have given it another number.
func (s *site) stays(r *record, p string) *object {
	want := *r.Old
	dir, name, err := s.tree.parent(p)
	if err != nil {
		return &want
	}
	if now, err := lstat(dir, name); err == nil && now != nil {
		want.Mode, want.UID, want.GID = want.format()|now.perm(), now.UID, now.GID
		if now.Ino != want.Ino && onOverlay(dir) {
			want.Ino = now.Ino
		}
	}
	return &want
}

// own is what is at a path when it is what was put there. Otherwise another
// process changed it right after: then it is what was put, as of no time at all,
// so that nothing is taken for it. What the caller may not look at is not there.
func (s *site) own(p string, put *object) *object {
	if put == nil {
		return nil
	}
	now, err := s.tree.look(p)
	if err != nil || put.asBefore(now) {
		return now
	}
	was := *put
	was.Ctime = 0
	return &was
}

// displaced looks at what a flip took away.
func (s *site) displaced(r *record) (*object, error) {
	came, err := s.places[r.Place].lookSlot(r.Slot)
	if err != nil {
		return nil, failed(opLand, r.Path, err)
	}
	same := came == nil
	switch {
	case r.Entrywise:
		if err := s.displacedParts(r); err != nil {
			return nil, failed(opLand, r.Path, err)
		}
	case r.Old.isDir():
		same = r.Old.is(came) && s.weights[inPlace{r.Place, r.Slot}] == r.Below.without(s.movedOut[r.N])
	case r.Old != nil:
		same = s.cameAs(r, r.Old, came)
	}
	if !same {
		return nil, conflict(opLand, r.Path, "it changed at the very moment")
	}
	return came, nil
}

// cameAs says whether what is in a slot is a file that was at the path. On
// overlayfs a rename may give it another number.
func (s *site) cameAs(r *record, want, came *object) bool {
	return want.asBefore(came) || s.places[r.Place].Overlay && came != nil && want.sameContent(came) && sameAttrs(want, came)
}

func (s *site) displacedParts(r *record) error {
	at := s.ranges[r.N]
	return s.eachPart(s.parts.forward(at.from, at.to), func(p *part) error {
		came, err := s.places[r.Place].lookSlot(p.Slot)
		if err == nil && (came == nil || !p.Obj.isDir() && !p.Obj.sameContent(came)) {
			return conflict(opLand, join(r.Path, p.Rel), "it changed at the very moment")
		}
		return err
	})
}

// undoneLeft is what an undo left, of a landing that left was.
func (s *site) undoneLeft(r *record, was *left) left {
	l := left{N: r.N}
	switch {
	case r.flips():
		if came, err := s.places[r.Place].lookSlot(r.Slot); err == nil && was.Now.asBefore(came) {
			l.Slot = came
		}
		l.Now = s.own(r.before(), s.returned(r, was))
	case r.Op == Attr || r.Op == Move:
		l.Now = s.own(r.before(), s.stays(r, r.before()))
	case r.Link != "":
		l.Slot = s.linked(r)
	}
	return l
}

// returned is what an undo put back.
func (s *site) returned(r *record, was *left) *object {
	if r.Entrywise {
		return s.stays(r, r.before())
	}
	return was.Slot
}

// landedAgain is what is left by an undo that was taken back. Where something
// has changed since the landing, what was recorded then stays.
func (s *site) landedAgain(r *record, was *left) left {
	l := *was
	if now, err := s.tree.look(r.Path); err == nil && was.Now != nil && was.Now.asBefore(now) && sameAttrs(was.Now, now) && was.Now.Ctime != 0 {
		l.Now = now
	}
	if r.flips() {
		if came, err := s.places[r.Place].lookSlot(r.Slot); err == nil && was.Slot.asBefore(came) {
			l.Slot = came
		}
	}
	return l
}

// following yields to look what was left of each record before.
func following(lefts *journal, look func(*record, *left) left) func(*record) (left, error) {
	before := ahead(lefts)
	return func(r *record) (l left, err error) {
		var was left
		if err := nextLine(before, &was); err != nil {
			return l, err
		}
		return look(r, &was), nil
	}
}
