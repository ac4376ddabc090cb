package land

import (
	"errors"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// linkInTree plans a link to a file that stays where it is. The link itself is
// made by makeLinks: another name changes the inode's time, and until the
// landing is decided nothing in the tree may change. The content is read: the
// caller has to know what it is that lands.
func (l *Landing) linkInTree(r *record, it *Item, slotDir int) error {
	at := l.located(it.Link)
	from, base, err := l.tree.parent(at)
	if err != nil {
		return err
	}
	target, err := lstat(from, base)
	if err != nil {
		return err
	}
	switch in, err := fstat(slotDir); {
	case err != nil:
		return err
	case target == nil || target.format() != kernelMode(it.Node.Mode)&unix.S_IFMT:
		return unix.ENOENT
	case in.Dev != target.Dev:
		return unix.EXDEV
	case l.caller() != 0 && uint32(l.caller()) != target.UID:
		return unix.EPERM // as many systems say to who would link what is not theirs
	}
	if r.New, err = look(from, base); err != nil {
		return err
	}
	if r.Sum, r.Target, err = sumOf(from, base, r.New); err != nil {
		return err
	}
	r.Link = at
	l.links = append(l.links, r)
	return nil
}

// caller is with whose rights the tree is touched.
func (s *site) caller() int {
	if s.cfg.Owner != nil {
		return s.cfg.Owner.UID
	}
	return os.Geteuid()
}

// makeLinks makes the links that were planned.
func (l *Landing) makeLinks() error {
	for _, r := range l.links {
		if err := l.makeLink(r); err != nil {
			return failed(opLand, r.Path, err)
		}
	}
	return nil
}

func (l *Landing) makeLink(r *record) error {
	from, base, err := l.tree.parent(r.Link)
	if err != nil {
		return err
	}
	now, err := lstat(from, base)
	if err != nil {
		return err
	}
	if !r.New.is(now) || now.Ctime != r.New.Ctime && !l.touched[now.inode()] {
		return conflict(opLand, r.Path, "what it is a link to changed meanwhile")
	}
	l.touched[now.inode()] = true
	dir, name, err := l.places[r.Place].slot(r.Slot)
	if err != nil {
		return err
	}
	return l.inside(dir, r, func() error { return linkat(from, base, dir, name) })
}

// inside adds something to a staged directory that has its attributes already,
// and gives it back the time that it had.
func (l *Landing) inside(dir int, r *record, add func() error) error {
	if !r.Inside {
		return add()
	}
	parent, name, err := l.places[r.Place].slot(path.Dir(r.Slot))
	if err != nil {
		return err
	}
	before, err := lstat(parent, name)
	if err != nil || before == nil {
		return errors.Join(err, unix.ENOENT)
	}
	h := handle{dir, false}
	if err := h.writable(add); err != nil {
		return err
	}
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(before.Mtime)}
	return act("utimes", func() error { return unix.UtimesNanoAt(dir, "", times, unix.AT_EMPTY_PATH) })
}
