package land

import (
	"context"
	"errors"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// Recover decides a landing, or an undo, that was interrupted: it ends where
// it came from, unless it was done. It can be repeated, and does nothing to
// one that is decided. A landing that left no trace, or whose directory is
// gone, is Before; so is one without Keep whose directory is gone.
func Recover(ctx context.Context, cfg Config) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Outcome{}, err
	}
	s, err := openSite(cfg)
	if errors.Is(err, os.ErrNotExist) {
		return Outcome{State: Before}, nil
	}
	if err != nil {
		return Outcome{}, forkbox.Wrap(opRecover, err)
	}
	defer s.close()
	m, err := readMarker(cfg.Dir)
	if err == nil {
		err = s.yard.openPlaces()
	}
	if err != nil {
		return Outcome{}, forkbox.Wrap(opRecover, err)
	}
	o, err := s.decide(m)
	return o, forkbox.Wrap(opRecover, err)
}

func (s *site) decide(m marker) (Outcome, error) {
	switch m.Stage {
	case staging, rolledBack:
		return Outcome{State: Before}, s.discard()
	case committing:
		torn, err := s.rollback()
		return outcome(Before, torn), err
	case undoing:
		torn, err := s.reland()
		return outcome(After, torn), err
	case torn:
		return Outcome{State: Torn, Torn: m.Torn}, nil
	}
	state := After
	if m.Stage == undone {
		state = Undone
	}
	if m.Expired {
		return Outcome{State: state}, s.yard.clearOld()
	}
	if state == Undone {
		return Outcome{State: state}, s.settleUndone()
	}
	return Outcome{State: state}, s.settle(!m.Discard)
}

func outcome(state State, torn []forkbox.Caution) Outcome {
	if len(torn) > 0 {
		state = Torn
	}
	return Outcome{State: state, Torn: torn}
}

// rollback takes a landing that is not done back to where it came from, and
// leaves no trace of it, but where another process changed the tree meanwhile.
func (s *site) rollback() ([]forkbox.Caution, error) {
	d, err := s.takeBack()
	if err != nil {
		return nil, err
	}
	if len(d.torn) == 0 {
		if err := d.tellPutBack(s.cfg.PutBack); err != nil {
			return nil, err
		}
		// From here on, that something staged is missing means nothing.
		if err := mark(s.dir, marker{Stage: rolledBack}); err != nil {
			return nil, err
		}
		if err := s.discard(); err != nil {
			return nil, err
		}
		return nil, s.tellLinked()
	}
	return d.torn, mark(s.dir, marker{Stage: torn, Torn: d.torn})
}

// takeBack brings the tree back to where the landing began, durably, but where
// another process changed it meanwhile: the driver says where. All that was
// staged is in the staging directories then.
func (s *site) takeBack() (*driver, error) {
	d := &driver{crew: s.crew, to: false, skip: map[int]bool{}, turned: map[int]bool{}}
	err := s.who.Do(func() error {
		// A new directory in which another process made a file stays where it is.
		if err := d.inspectLanded(); err != nil {
			return err
		}
		if err := s.plan.back(d.visitor(), nil); err != nil {
			return err
		}
		// Now that it is out of reach: did it happen after all?
		return d.inspectSlots()
	})
	if err = errors.Join(err, d.err); err == nil {
		err = s.hand.syncAll()
	}
	return d, err
}

// tellPutBack tells of everything that was moved away and put back: that it
// has new times is our doing. What was never moved away, or is not what it was,
// is none of our doing.
func (d *driver) tellPutBack(tell func(Entry)) error {
	if tell == nil {
		return nil
	}
	return d.plan.each(func(r *record) error {
		at, was := r.before(), r.Old
		if !d.turned[r.N] {
			return nil
		}
		var now *files.Object
		err := d.who.Do(func() (err error) { now, err = d.tree.Look(at); return err })
		if err == nil && was.AsBefore(now) {
			tell(entryOf(r, &left{Now: now}))
		}
		return nil
	})
}

// tellLinked tells of the files again that had another name until now. The
// journal is gone by name only.
func (s *site) tellLinked() error {
	return s.plan.eachWith(isLink, func(r *record) error {
		if r.Link == "" {
			return nil
		}
		return s.who.Do(func() error {
			s.tellLink(r)
			return nil
		})
	})
}

// tellLink tells, from within do, of a file that a name was taken from: its
// time is our doing.
func (s *site) tellLink(r *record) {
	if now := s.witness.linked(r); now != nil && files.SameAttrs(r.New, now) && s.cfg.PutBack != nil {
		s.who.Beside(func() { s.cfg.PutBack(entryOf(r, &left{Now: now})) })
	}
}

// reland takes an undo that is not done back to where it came from.
func (s *site) reland() ([]forkbox.Caution, error) {
	lefts, err := openJournal(s.dir, leftFile)
	if err != nil {
		return nil, err
	}
	defer lefts.close()
	if err := s.yard.bring(); err != nil {
		return nil, err
	}
	d := &driver{crew: s.crew, to: true}
	err = s.who.Do(func() error { return s.plan.forth(d.visitor(), lefts) })
	if err = errors.Join(err, d.err); err == nil && len(d.torn) > 0 {
		return d.torn, mark(s.dir, marker{Stage: torn, Torn: d.torn})
	}
	if err == nil {
		err = s.conclude(done, leftFile, following(lefts, s.witness.landedAgain))
	}
	if err != nil {
		return nil, err
	}
	return nil, s.settle(true)
}
