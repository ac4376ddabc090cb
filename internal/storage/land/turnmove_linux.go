package land

import (
	"slices"
)

// moveEnd brings one end of a move to the driver's side: what moves is to be
// at p or, when it is to be away, in the slot.
func (d *driver) moveEnd(r *record, p string, away bool) error {
	if d.places[r.Place].fd < 0 {
		return conflict(opRecover, p, "its staging directory is gone")
	}
	if r.Entrywise {
		return failed(opRecover, p, d.movePartsEnd(r, p, away))
	}
	here, err := d.tree.look(p)
	if err != nil {
		return failed(opRecover, p, err)
	}
	there, err := d.places[r.Place].lookSlot(r.Slot)
	if err != nil {
		return failed(opRecover, p, err)
	}
	switch {
	case away && !here.is(r.Old):
		return nil
	case !away && here.is(r.Old):
		d.turnedBefore(r, here)
		return failed(opRecover, p, d.mend(p, r.Old))
	case !away && !there.is(r.Old) && !d.to && d.force == nil:
		return nil // another process took it away before we did: it is not ours to return
	case !away && !there.is(r.Old):
		return conflict(opRecover, p, "what was moved is not where it was left")
	case !away && here != nil && (d.force == nil || !d.force(p)):
		return conflict(opRecover, p, d.kept(r, "something else is there by now"))
	}
	dir, name, err := d.tree.parent(p)
	if err != nil {
		return failed(opRecover, p, err)
	}
	if err = d.swap(dir, name, here, r, there); err == nil && !away {
		d.hasTurned(r)
		err = d.mend(p, r.Old)
	}
	return failed(opRecover, p, err)
}

// movePartsEnd is moveEnd for what is moved entry by entry. A token says
// whether the first half of the move is complete: what is then at its old path
// is not ours, and before, what is at the new one is not.
func (d *driver) movePartsEnd(r *record, p string, away bool) error {
	out, err := d.isOut(r)
	if err != nil {
		return err
	}
	switch {
	case p == r.Path && !out, p == r.From && away && out:
		return nil
	case p == r.From && away:
		if err := d.evacuate(r, p, d.unedited()); err != nil {
			return err
		}
		return d.setOut(r, true)
	case away:
		return d.evacuate(r, p, d.unedited())
	case p == r.From:
		if err := d.setOut(r, false); err != nil {
			return err
		}
	}
	d.hasTurned(r)
	return d.populate(r, p)
}

// arrived says whether a move is complete, so that what is below its new path
// is what was moved.
func (d *driver) arrived(via int) (bool, error) {
	if via == 0 {
		return true, nil
	}
	moves, err := d.movesOf()
	i := slices.IndexFunc(moves, func(m *record) bool { return m.N == via })
	if err != nil || i < 0 {
		return false, err
	}
	m := moves[i]
	if !m.Entrywise {
		here, err := d.tree.look(m.Path)
		return here.is(m.Old), err
	}
	out, err := d.isOut(m)
	if err != nil || !out {
		return false, err
	}
	last, err := d.lastIsOut(m)
	return !last, err
}

// unedited is the check of what is moved entry by entry: a recovery leaves
// alone what was edited meanwhile; an undo takes it along.
func (d *driver) unedited() func(*part, *object) string {
	return func(p *part, now *object) string {
		if now == nil || d.force != nil || p.Obj.isDir() || p.Obj.sameContent(now) {
			return ""
		}
		return "it was changed meanwhile"
	}
}
