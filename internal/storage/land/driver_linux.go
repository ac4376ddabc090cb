package land

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// driver takes a landing to one side whatever state each of its flips is in.
// It goes on where something cannot be done, so that as little as possible
// stays on the wrong side.
type driver struct {
	crew
	to     bool // the side: landed, or not
	skip   map[int]bool
	turned map[int]bool           // what was on the other side, and is on this one now
	force  func(path string) bool // nil: this is no undo
	torn   []forkbox.Caution
	err    error
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
			case r.Op == Attr && !r.Old.IsDir():
				return d.note(r, r.Path, d.turnAttrs(r, l))
			}
			return nil
		},
		attr: func(r *record, l *left) error { return d.note(r, r.Path, d.turnAttrs(r, l)) },
	}
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
func (d *driver) turnedBefore(r *record, now *files.Object) {
	if now.Is(r.Old) && now.Ctime != r.Old.Ctime && now.Mtime == r.Old.Mtime {
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
	if r.Place < 0 || d.yard.lacks(r) || strings.Contains(why, keptAs) {
		return why
	}
	return d.kept(r, why)
}

// kept adds to a reason where the other object is.
func (d *driver) kept(r *record, why string) string {
	p := d.yard.of(r)
	if there, err := p.lookSlot(r.Slot); err != nil || there == nil {
		return why
	}
	return why + keptAs + join(d.yard.path(p), r.Slot)
}

const keptAs = "; the other version is kept as "

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

// moveEnd brings one end of a move to the driver's side: what moves is to be
// at p or, when it is to be away, in the slot.
func (d *driver) moveEnd(r *record, p string, away bool) error {
	if d.yard.lacks(r) {
		return conflict(opRecover, p, "its staging directory is gone")
	}
	if r.Entrywise {
		return failed(opRecover, p, d.movePartsEnd(r, p, away))
	}
	here, err := d.tree.Look(p)
	if err != nil {
		return failed(opRecover, p, err)
	}
	there, err := d.yard.of(r).lookSlot(r.Slot)
	if err != nil {
		return failed(opRecover, p, err)
	}
	switch {
	case away && !here.Is(r.Old):
		return nil
	case !away && here.Is(r.Old):
		d.turnedBefore(r, here)
		return failed(opRecover, p, d.mend(p, r.Old))
	case !away && !there.Is(r.Old) && !d.to && d.force == nil:
		return nil // another process took it away before we did: it is not ours to return
	case !away && !there.Is(r.Old):
		return conflict(opRecover, p, "what was moved is not where it was left")
	case !away && here != nil && (d.force == nil || !d.force(p)):
		return conflict(opRecover, p, d.kept(r, "something else is there by now"))
	}
	dir, name, err := d.tree.Parent(p)
	if err != nil {
		return failed(opRecover, p, err)
	}
	if err = d.hand.swap(dir, name, here, r, there); err == nil && !away {
		d.hasTurned(r)
		err = d.mend(p, r.Old)
	}
	return failed(opRecover, p, err)
}

// movePartsEnd is moveEnd for what is moved entry by entry. A token says
// whether the first half of the move is complete: what is then at its old path
// is not ours, and before, what is at the new one is not.
func (d *driver) movePartsEnd(r *record, p string, away bool) error {
	out, err := d.hand.isOut(r)
	if err != nil {
		return err
	}
	switch {
	case p == r.Path && !out, p == r.From && away && out:
		return nil
	case p == r.From && away:
		if err := d.hand.evacuate(r, p, d.unedited()); err != nil {
			return err
		}
		return d.hand.setOut(r, true)
	case away:
		return d.hand.evacuate(r, p, d.unedited())
	case p == r.From:
		if err := d.hand.setOut(r, false); err != nil {
			return err
		}
	}
	d.hasTurned(r)
	return d.hand.populate(r, p)
}

// arrived says whether a move is complete, so that what is below its new path
// is what was moved.
func (d *driver) arrived(via int) (bool, error) {
	if via == 0 {
		return true, nil
	}
	moves, err := d.plan.moves()
	i := slices.IndexFunc(moves, func(m *record) bool { return m.N == via })
	if err != nil || i < 0 {
		return false, err
	}
	m := moves[i]
	if !m.Entrywise {
		here, err := d.tree.Look(m.Path)
		return here.Is(m.Old), err
	}
	out, err := d.hand.isOut(m)
	if err != nil || !out {
		return false, err
	}
	last, err := d.lastIsOut(m)
	return !last, err
}

// unedited is the check of what is moved entry by entry: a recovery leaves
// alone what was edited meanwhile; an undo takes it along.
func (d *driver) unedited() func(*part, *files.Object) string {
	return func(p *part, now *files.Object) string {
		if now == nil || d.force != nil || p.Obj.IsDir() || p.Obj.SameContent(now) {
			return ""
		}
		return "it was changed meanwhile"
	}
}

// turnAttrs brings attributes to the driver's side.
func (d *driver) turnAttrs(r *record, l *left) error {
	if !d.hand.mayHaveReached(r) {
		return nil
	}
	if there, err := d.arrived(r.Via); err != nil || !there && !d.to && d.force == nil {
		return failed(opRecover, r.Path, err) // what is at the path is something else
	}
	h, err := d.hand.openAt(r.Path)
	if err != nil {
		return failed(opRecover, r.Path, err)
	}
	defer unix.Close(h.Fd)
	now, err := files.Fstat(h.Fd)
	if err != nil {
		return failed(opRecover, r.Path, err)
	}
	now.Xattrs = h.Xattrs()
	if why := d.mayChange(r, l, h, now); why != "" {
		return conflict(opRecover, r.Path, why)
	}
	want := r.Old
	if d.to {
		want = r.New
	}
	d.hand.alsoSync(r.Path, now)
	d.hasTurned(r)
	return failed(opRecover, r.Path, h.Become(r.Path, want))
}

func (d *driver) mayChange(r *record, l *left, h files.Handle, now *files.Object) string {
	switch {
	case d.force != nil && d.force(r.Path):
		return ""
	case now.Ino != r.Old.Ino && !onOverlay(h.Fd):
		return "it was replaced meanwhile"
	case d.force != nil && (!files.SameAttrs(now, l.Now) || !files.SameXattrs(now.Xattrs, r.New.Xattrs)):
		return "its attributes changed since"
	case d.force == nil && !files.Between(now, r.Old, r.New):
		return "its attributes changed meanwhile"
	}
	return ""
}

// mend is for a crash that came while a directory was loosened for a rename.
func (d *driver) mend(p string, want *files.Object) error {
	if !want.IsDir() {
		return nil
	}
	h, err := d.hand.openAt(p)
	if err != nil {
		return files.Gone(err)
	}
	defer unix.Close(h.Fd)
	now, err := files.Fstat(h.Fd)
	if err != nil || !now.Is(want) || now.Mode == want.Mode || now.Mode != want.Mode|0o200 {
		return err
	}
	return h.Chmod(want.Mode)
}
