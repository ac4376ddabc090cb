package land

import (
	"golang.org/x/sys/unix"
)

// turnAttrs brings attributes to the driver's side.
func (d *driver) turnAttrs(r *record, l *left) error {
	if !d.reached.has(r) {
		return nil
	}
	if there, err := d.arrived(r.Via); err != nil || !there && !d.to && d.force == nil {
		return failed(opRecover, r.Path, err) // what is at the path is something else
	}
	h, err := d.openAt(r.Path)
	if err != nil {
		return failed(opRecover, r.Path, err)
	}
	defer unix.Close(h.fd)
	now, err := fstat(h.fd)
	if err != nil {
		return failed(opRecover, r.Path, err)
	}
	now.Xattrs = h.xattrs()
	if why := d.mayChange(r, l, h, now); why != "" {
		return conflict(opRecover, r.Path, why)
	}
	want := r.Old
	if d.to {
		want = r.New
	}
	d.alsoSync(r.Path, now)
	d.hasTurned(r)
	return failed(opRecover, r.Path, h.become(r.Path, want))
}

func (d *driver) mayChange(r *record, l *left, h handle, now *object) string {
	switch {
	case d.force != nil && d.force(r.Path):
		return ""
	case now.Ino != r.Old.Ino && !onOverlay(h.fd):
		return "it was replaced meanwhile"
	case d.force != nil && (!sameAttrs(now, l.Now) || !sameXattrs(now.Xattrs, r.New.Xattrs)):
		return "its attributes changed since"
	case d.force == nil && !between(now, r.Old, r.New):
		return "its attributes changed meanwhile"
	}
	return ""
}
