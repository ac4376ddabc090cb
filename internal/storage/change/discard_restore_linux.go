package change

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// restore has a box with layers show at a path what its base has there. What
// that takes is made in the bin, and put in its place at once: whatever
// interrupts this, the path is as it was or as it should be.
func (t *terrain) restore(name string) error {
	in := t.last()
	staged := t.d.spare()
	made, err := t.remake(in, in.lower(), name, t.d.bin, staged)
	if err != nil {
		return err
	}
	if !made {
		if in.upper == none {
			return nil
		}
		return t.d.binned(in.upper, name)
	}
	if err := t.settle(); err != nil {
		return err
	}
	return t.d.place(staged, in.upper, name)
}

// spare is a name in the bin that is not used.
func (d *discarder) spare() string {
	for {
		d.n++
		name := fmt.Sprintf("discarded-%d-%d", unix.Getpid(), d.n)
		if _, err := lstat(d.bin, name); err != nil {
			return name
		}
	}
}

// staged makes something in the bin and puts it in its place.
func (d *discarder) staged(make func(name string) error, dir int, name string) error {
	spare := d.spare()
	if err := make(spare); err != nil {
		return err
	}
	return d.place(spare, dir, name)
}

// place moves something out of the bin; what was in its place goes there.
func (d *discarder) place(spare string, dir int, name string) error {
	return writable(dir, name, func() error {
		err := unix.Renameat2(d.bin, spare, dir, name, unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EEXIST) {
			err = unix.Renameat2(d.bin, spare, dir, name, unix.RENAME_EXCHANGE)
		}
		return err
	})
}

// remake makes what has to lie over the layers so that a name shows as the base
// has it. made is false when nothing has to.
func (t *terrain) remake(in *site, lower []part, name string, into int, as string) (made bool, err error) {
	found, over, err := lookIn(lower, name)
	if err != nil {
		return false, err
	}
	base, err := lstatIn(in.base, name)
	if err != nil && !isAbsent(err) {
		return false, err
	}
	covered := over.Mode != 0
	shows := covered && !t.isWhiteout(found, name, over)
	cover := t.d.isHidden(t.inBase(originOf(in.origin, name)))
	switch {
	case !covered && !in.opaque:
		return false, nil // the base shows by itself
	case base.Mode == 0, cover && !base.isDir() && !base.isRegular():
		if !shows {
			return false, nil
		}
		return true, t.delete(into, as)
	case cover:
		return true, t.cover(base, into, as)
	case !base.isDir():
		return true, t.copyFile(in.base, name, base, into, as)
	case shows && over.isDir():
		return true, t.remakeDir(in, lower, name, base, into, as)
	}
	return true, t.copyTree(in, name, base, into, as)
}

// delete marks a name as deleted.
func (t *terrain) delete(into int, as string) error {
	return unix.Mknodat(into, as, unix.S_IFCHR, 0)
}

// copyFile copies under another name than the original's.
func (t *terrain) copyFile(dir int, name string, f file, into int, as string) error {
	c := t.copier()
	if err := c.bodyAs(dir, name, &f, into, as); err != nil {
		return err
	}
	return c.attributes(dir, name, f, into, as)
}

// remakeDir is for a directory that both the layers and the base have. Where
// the layers' shows the base's, only what they have in it is made again: never
// the whole base.
func (t *terrain) remakeDir(in *site, lower []part, name string, base file, into int, as string) error {
	tr, err := t.stack.find(lower, nil, name)
	if err != nil {
		return err
	}
	defer closeParts(tr.parts)
	origin, shows := tr.origin(in.origin, in.opaque)
	if !shows || origin != originOf(in.origin, name) {
		return t.copyTree(in, name, base, into, as)
	}
	sub := &site{shown: shown{parts: tr.parts, origin: origin}, upper: none}
	if sub.base, err = openPath(in.base, name); err != nil {
		return err
	}
	defer unix.Close(sub.base)
	r, err := roll(tr.parts)
	if err != nil {
		return err
	}
	return t.directory(sub.base, base, into, as, func(fd int) error {
		for _, n := range r.names {
			if err := t.ctx.Err(); err != nil {
				return err
			}
			if _, err := t.remake(sub, tr.parts, n, fd, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// directory makes one that looks like the base's, and fills it.
func (t *terrain) directory(base int, f file, into int, as string, fill func(fd int) error) error {
	fd, err := makeDir(into, as)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := fill(fd); err != nil {
		return err
	}
	return t.copier().attributes(base, ".", f, fd, ".")
}
