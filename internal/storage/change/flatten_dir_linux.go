package change

import (
	"errors"
	"path"

	"golang.org/x/sys/unix"
)

// dir makes one directory of those that the layers have.
func (fl *flattener) dir(m *melt, owners []int, name string) error {
	t, err := fl.stack.find(m.parts, owners, name)
	if err != nil {
		return err
	}
	defer closeParts(t.parts)
	if len(t.parts) == 0 {
		return unix.ENOENT // another process writes to the layers
	}
	origin, shows := t.origin(m.origin, m.opaque)
	here := originOf(m.origin, name)
	// Where nothing shows through by itself, or what shows is not from here,
	// it has to be said where it is from.
	foreign := shows && (m.opaque || origin != here)
	sub := &melt{shown: shown{parts: t.parts, origin: here, opaque: !shows}, base: none, path: join(m.path, name), depth: m.depth + 1}
	if shows {
		sub.origin = origin
	}
	sub.full = m.full || foreign && fl.f.Expand
	sub.closed = sub.full || sub.opaque
	if sub.full && shows {
		sub.base = fl.openBase(origin)
		defer func() { closeDir(sub.base) }()
	}
	return fl.made(m, sub, name, t.parts[0].dir, func() error { return fl.marks(m, sub, foreign) })
}

// made makes a directory, fills it, and gives it the attributes of like.
func (fl *flattener) made(m, sub *melt, name string, like int, marks func() error) (err error) {
	if sub.into, err = makeDir(m.into, name); err != nil {
		return err
	}
	defer unix.Close(sub.into)
	if err := fl.fill(sub); err != nil {
		return err
	}
	if err := marks(); err != nil {
		return err
	}
	return fl.finish(sub, like)
}

func makeDir(dir int, name string) (int, error) {
	if err := unix.Mkdirat(dir, name, 0o700); err != nil {
		return none, err
	}
	return openDir(dir, name, beneath)
}

// marks writes on a directory what of the base shows in it.
func (fl *flattener) marks(m, sub *melt, foreign bool) error {
	switch {
	case sub.closed && !m.closed:
		return unix.Fsetxattr(sub.into, fl.stack.opaque, []byte("y"), 0)
	case foreign && !sub.full:
		return unix.Fsetxattr(sub.into, fl.stack.redirect, []byte("/"+sub.origin), 0)
	}
	return nil
}

// finish comes last: filling a directory sets its time, and attributes may be
// inherited by what is made in it.
func (fl *flattener) finish(m *melt, like int) error {
	if err := fl.noteHoles(m); err != nil {
		return err
	}
	f, err := lstat(like, ".")
	if err != nil {
		return err
	}
	return fl.copier.attributes(like, ".", f, m.into, ".")
}

// noteHoles has overlayfs look for whiteouts in a directory. Where nothing
// below has one of that name it would list them as files, unless the directory
// is noted to be a copy, of whatever.
func (fl *flattener) noteHoles(m *melt) error {
	if m.marked {
		if err := unix.Fsetxattr(m.into, fl.stack.opaque, []byte("x"), 0); err != nil {
			return err
		}
	}
	if !m.holes {
		return nil
	}
	return unix.Fsetxattr(m.into, fl.stack.origin, nil, 0)
}

// openBase opens the directory of the base that a moved one shows; none, if it
// is not there now or was not shown to the box.
func (fl *flattener) openBase(origin string) int {
	for dir := origin; dir != "."; dir = path.Dir(dir) {
		if fl.hidden[dir] {
			return none
		}
	}
	// Overlayfs does not show what is mounted somewhere in the base.
	fd, err := openat(fl.base, origin, unix.O_PATH|unix.O_DIRECTORY, beneath|unix.RESOLVE_NO_XDEV)
	if err != nil {
		return none
	}
	return fd
}

// fromBase writes out what only the base has. It is copied in any case: the
// base goes on changing.
func (fl *flattener) fromBase(m *melt, name string) error {
	f, err := lstat(m.base, name)
	if err != nil {
		return ignore(err, unix.ENOENT) // it vanished while we were looking
	}
	origin := originOf(m.origin, name)
	if fl.hidden[origin] {
		return fl.copier.cover(f, m.into, name, nil)
	}
	if !f.isDir() {
		err := fl.copier.copy(m.base, name, f, m.into, join(m.path, name))
		if errors.Is(err, errVanished) {
			return nil
		}
		return err
	}
	like, err := openPath(m.base, name)
	if err != nil {
		return ignore(err, unix.ENOENT)
	}
	defer unix.Close(like)
	sub := &melt{shown: shown{origin: origin}, base: like, path: join(m.path, name), full: true, closed: true, depth: m.depth + 1}
	if isMountPoint(m.base, name) {
		sub.base = none // overlayfs does not show what is mounted there either
	}
	return fl.made(m, sub, name, like, func() error { return nil })
}
