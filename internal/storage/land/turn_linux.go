package land

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// turn brings one record to the driver's side, unless it is there.
func (d *driver) turn(r *record, l *left) error {
	if d.yard.lacks(r) {
		return conflict(opRecover, r.Path, "its staging directory is gone")
	}
	f, err := d.sight(r, l)
	if err != nil {
		return failed(opRecover, r.Path, err)
	}
	if d.to && r.Entrywise && !(f.landed && r.New != nil) {
		if err := d.hand.evacuate(r, r.Path, d.unedited()); err != nil {
			return failed(opRecover, r.Path, err)
		}
		f.here = nil
	}
	if err := d.turnFlip(r, l, f); err != nil {
		return failed(opRecover, r.Path, err)
	}
	if !d.to && r.Entrywise {
		return failed(opRecover, r.Path, d.refill(r))
	}
	return nil
}

// refill populates a directory again that was evacuated. In one that moves,
// that can only have begun when the move was complete; before, what is at the
// path, if anything, is something else.
func (d *driver) refill(r *record) error {
	there, err := d.arrived(r.Via)
	if err != nil {
		return err
	}
	if !there {
		if begun, err := d.lastIsOut(r); err != nil || !begun {
			return err
		}
	}
	return d.hand.populate(r, r.Path)
}

// lastIsOut says whether the last part is in its slot: it leaves first and
// returns last.
func (d *driver) lastIsOut(r *record) (bool, error) {
	last, err := d.plan.lastPart(r)
	if err != nil {
		return false, err
	}
	there, err := d.yard.of(r).lookSlot(last.Slot)
	if err == nil && there == nil {
		there, err = d.yard.of(r).lookSlot(last.Slot + leaving)
	}
	return there != nil, err
}

// sighting is what is found at both ends of a flip.
type sighting struct {
	here, there   *files.Object // at the path, in the slot
	landed, known bool
}

func (d *driver) sight(r *record, l *left) (f sighting, err error) {
	f.here, err = d.tree.Look(r.Path)
	if errors.Is(err, unix.ELOOP) {
		err = nil // another process put a symlink on the way: ours is not there
	}
	if err == nil {
		f.there, err = d.yard.of(r).lookSlot(r.Slot)
	}
	f.landed, f.known = hasLanded(r, l, f.here, f.there)
	return f, err
}

func (d *driver) turnFlip(r *record, l *left, f sighting) error {
	switch {
	case !f.known:
		return conflict(opRecover, r.Path, d.kept(r, "something else is there by now"))
	case f.landed == d.to:
		d.turnedBefore(r, f.here)
		return d.mend(r.Path, r.settled(d.to, l))
	}
	if why := d.mayTurn(r, l, f.here); why != "" {
		return conflict(opRecover, r.Path, d.kept(r, why))
	}
	if f.here == nil && f.there == nil {
		return nil
	}
	dir, name, err := d.tree.Parent(r.Path)
	if err != nil {
		return err
	}
	if err := d.hand.swap(dir, name, f.here, r, f.there); err != nil {
		return err
	}
	d.hasTurned(r)
	if d.force == nil && f.here != nil {
		if err := d.sameCame(r, l, f.here); err != nil {
			return err
		}
	}
	return d.mend(r.Path, r.settled(d.to, l))
}

// sameCame looks at what a turn took away. When that is not what was seen
// right before, another process was quicker, and gets it back.
func (d *driver) sameCame(r *record, l *left, seen *files.Object) error {
	why, err := d.mustStay(&d.yard.of(r).tree, "/"+r.Slot, l, seen)
	if err != nil || why == "" {
		return err
	}
	f, err := d.sight(r, l)
	if err != nil {
		return err
	}
	dir, name, err := d.tree.Parent(r.Path)
	if err == nil {
		err = d.hand.swap(dir, name, f.here, r, f.there)
	}
	if err != nil {
		return err
	}
	return conflict(opRecover, r.Path, d.kept(r, why))
}

// mustStay says why what is somewhere, and was seen there or elsewhere, is not
// to be taken away, or was not.
func (d *driver) mustStay(t *files.Tree, p string, l *left, seen *files.Object) (string, error) {
	now, err := t.Look(p)
	if err != nil {
		return "", err
	}
	if !seen.AsBefore(now) {
		return "it was changed meanwhile", nil
	}
	if l == nil || !seen.IsDir() || !seen.Is(l.Slot) {
		return "", nil
	}
	below, err := d.witness.tallyAt(t, p, "")
	if err == nil && below != l.Below {
		return "something in it was changed meanwhile", nil
	}
	return "", err
}

// hasLanded says on which side a flip is. Before the landing was done, what
// was staged tells: it is in the slot or at the path. Afterwards what is kept
// tells, for an undo may be forced over something that was never staged.
func hasLanded(r *record, l *left, here, there *files.Object) (landed, known bool) {
	switch {
	case l != nil && l.Slot != nil:
		return there.Is(l.Slot), there.Is(l.Slot) || here.Is(l.Slot)
	case l != nil:
		return there == nil, true
	case r.New != nil:
		return here.Is(r.New), here.Is(r.New) || there.Is(r.New)
	}
	return there != nil, true
}

// mayTurn refuses to move away what another process changed meanwhile.
func (d *driver) mayTurn(r *record, l *left, here *files.Object) string {
	if d.force != nil {
		if d.force(r.Path) || r.New == nil && here == nil {
			return ""
		}
		why, _ := d.witness.changedSince(r, l)
		return why
	}
	var ours *files.Object // what this landing, or its undo, put at the path
	switch {
	case !d.to:
		ours = r.New
	case l != nil:
		ours = l.Slot
	}
	switch {
	case ours == nil && here != nil:
		return "something new is there"
	case ours != nil && r.Link != "" && ours.Is(here) && ours.SameContent(here):
		return ""
	case ours != nil && !ours.AsBefore(here):
		return "it was changed meanwhile"
	case ours.IsDir() && l != nil:
		why, err := d.mustStay(d.tree, r.Path, l, here)
		if err != nil {
			return err.Error()
		}
		return why
	}
	return ""
}

// settled is what a flip leaves at its path on one side.
func (r *record) settled(landed bool, l *left) *files.Object {
	if landed && l != nil {
		return l.Now
	}
	return r.Old
}
