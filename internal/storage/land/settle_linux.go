package land

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// discard removes all that a landing has made: what was staged, and its
// journal. It must be back where it came from.
func (s *site) discard() error {
	if err := s.who.do(s.clearPlaces); err != nil {
		return err
	}
	return wrap(opLand, s.forget())
}

// clearOld removes the staging directories with the old objects in them. The
// owner does that as far as he may; only what others have in a directory of
// his is left for the process to remove.
func (s *site) clearOld() error {
	err := s.who.do(s.clearPlaces)
	if refused(err) {
		err = s.clearPlaces()
	}
	return err
}

// clearPlaces removes the staging directories with everything in them.
func (s *site) clearPlaces() error {
	for _, p := range s.places {
		if err := s.clearPlace(p); err != nil {
			return forkbox.Errorf(forkbox.Internal, opLand, "remove %q: %w", join(p.In, s.name), err)
		}
	}
	return nil
}

func (s *site) clearPlace(p *place) error {
	if p.failed || p.fd < 0 && p.Ino != 0 {
		return nil // what has its name, if anything, is not ours
	}
	if p.stowed {
		return removeAll(int(s.dir.Fd()), p.stowName())
	}
	parent, err := s.freshDir(p.In)
	if err != nil {
		return gone(err)
	}
	defer unix.Close(parent)
	if p.fd < 0 {
		// Made, perhaps, but nothing was ever put in it.
		err := unlink(parent, s.name, unix.AT_REMOVEDIR)
		if err == unix.ENOTEMPTY || err == unix.EEXIST {
			return nil // not ours
		}
		return gone(err)
	}
	return s.clearMade(p, parent)
}

// clearMade empties the directory that is open, and not the one that has its
// name by now.
func (s *site) clearMade(p *place, parent int) error {
	if err := removeIn(p.fd); err != nil {
		return err
	}
	if now, err := lstat(parent, s.name); err != nil || now == nil || now.Ino != p.inode() {
		return err
	}
	if err := gone(unlink(parent, s.name, unix.AT_REMOVEDIR)); err != nil {
		return err
	}
	return syncFilesystem(p.fd) // before the journal forgets it
}

// inode of the open directory, whether it was noted yet or not.
func (p *place) inode() uint64 {
	o, err := fstat(p.fd)
	if err != nil {
		return 0
	}
	return o.Ino
}

// freshDir opens a directory of the tree with the rights of the calling thread.
func (s *site) freshDir(p string) (int, error) {
	t := tree{root: s.tree.root}
	defer t.forget()
	fd, err := t.dir(p)
	if err != nil {
		return -1, err
	}
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
}

// gone forgives that something is not there.
func gone(err error) error {
	for _, e := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP} {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

// forget removes the landing's own directory, the marker last: as long as
// anything is there, it says what it is.
func (s *site) forget() error {
	fd := int(s.dir.Fd())
	names, err := linux.List(fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == markerFile {
			continue
		}
		if err := removeAll(fd, name); err != nil {
			return err
		}
	}
	return s.forgetDir(fd)
}

func (s *site) forgetDir(fd int) error {
	if err := removeAll(fd, markerFile); err != nil {
		return err
	}
	parent := filepath.Dir(s.cfg.Dir)
	if err := act("rmdir", func() error { return unix.Rmdir(s.cfg.Dir) }); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return syncDir(parent)
}

// settle tidies up after a landing or an undo that is done.
func (s *site) settle(keep bool) error {
	if keep {
		return s.stow()
	}
	if err := s.clearOld(); err != nil {
		return err
	}
	return wrap(opLand, s.forget())
}

// settleUndone tidies up after an undo. A name that was put for a file which
// the tree still has is nothing to keep: it would only be counted there.
func (s *site) settleUndone() error {
	err := s.who.do(func() error { return eachWith(isLink, s.plan.forward(0, s.plan.size), s.dropName) })
	return besides(err, s.settle(true))
}

func (s *site) dropName(r *record) error {
	if r.Link == "" || s.places[r.Place].fd < 0 {
		return nil
	}
	there, err := s.places[r.Place].lookSlot(r.Slot)
	if err != nil || there == nil {
		return err
	}
	dir, name, err := s.places[r.Place].slot(r.Slot)
	if err != nil {
		return err
	}
	if now, err := s.tree.look(r.Link); err != nil || !there.is(now) || now.Nlink < 2 {
		return err
	}
	if err := (handle{dir, false}).writable(func() error { return unlink(dir, name, 0) }); err != nil {
		return err
	}
	s.tellLink(r)
	return nil
}

// stow moves the staging directories into the landing's own directory, out of
// the user's sight. One on another filesystem stays where it is.
func (s *site) stow() error {
	for _, p := range s.places {
		if p.fd < 0 || p.stowed {
			continue
		}
		parent, err := s.freshDir(p.In)
		if err != nil {
			continue // its directory went away; so did it
		}
		err = s.stowPlace(p, parent)
		unix.Close(parent)
		if err != nil && !errors.Is(err, unix.EXDEV) && !refused(err) {
			return wrap(opLand, err)
		}
	}
	return nil
}

// stowPlace renames with the rights of the process, in a directory where the
// owner can rename too: what came must be what was meant.
func (s *site) stowPlace(p *place, parent int) error {
	store, name := int(s.dir.Fd()), p.stowName()
	if err := rename(parent, s.name, store, name, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	now, err := lstat(store, name)
	p.stowed = err == nil && now != nil && now.Ino == p.inode()
	if !p.stowed {
		return besides(err, rename(store, name, parent, s.name, unix.RENAME_NOREPLACE))
	}
	return nil
}

// bring moves them back beside their targets: an undo is done with the rights
// of the owner, who cannot reach the store.
func (s *site) bring() error {
	for _, p := range s.places {
		if !p.stowed {
			continue
		}
		parent, err := s.freshDir(p.In)
		if err != nil {
			return failed(opUndo, p.In, err)
		}
		err = rename(int(s.dir.Fd()), p.stowName(), parent, s.name, unix.RENAME_NOREPLACE)
		unix.Close(parent)
		if err != nil {
			return failed(opUndo, join(p.In, s.name), err)
		}
		p.stowed = false
		if err := s.reopen(p); err != nil {
			return err
		}
	}
	return nil
}

// reopen: a descriptor remembers the mount that it was opened through, and
// renames lead only within one.
func (s *site) reopen(p *place) error {
	p.close()
	return s.openPlace(p)
}
