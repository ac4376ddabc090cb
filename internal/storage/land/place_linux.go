package land

import (
	"errors"
	"path"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// place is a staging directory: on the filesystem of its targets, above them,
// so that a rename leads from one to the other.
type place struct {
	K       int    `json:"k"`
	In      string `json:"in"` // the directory of the tree that it is made in
	Overlay bool   `json:"overlay,omitempty"`
	Ino     uint64 `json:"ino,omitempty"` // 0: perhaps it was never made

	mount  mount
	fd     int // -1: not open
	stowed bool
	failed bool // could not be made: what has its name is not ours
	tree   tree // resolves slots

	noClone map[uint64]bool // devices whose files cannot be cloned here
}

// mount tells whether a rename can lead from one directory to another.
type mount struct{ id, dev uint64 }

func mountOf(fd int) (mount, error) {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &st)
	return mount{st.Mnt_id, unix.Mkdev(st.Dev_major, st.Dev_minor)}, err
}

func onOverlay(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC
}

// placeFor finds the staging directory for a path, or makes one: as high up as
// the caller may, so that a landing has few of them.
func (s *site) placeFor(at string) (*place, error) {
	dir := path.Dir(at)
	fd, err := s.tree.dir(dir)
	if err != nil {
		return nil, failed(opLand, dir, err)
	}
	m, err := mountOf(fd)
	if err != nil {
		return nil, failed(opLand, dir, err)
	}
	for _, p := range s.places {
		if p.fd >= 0 && p.mount == m && forkbox.Within(dir, p.In) {
			return p, nil
		}
	}
	for _, in := range ancestors(dir) {
		p, err := s.tryPlace(in, m)
		if p != nil || err != nil {
			return p, err
		}
	}
	return nil, forkbox.Errorf(forkbox.Denied, opLand, "neither %q nor a directory above it may be written to", dir).
		About(at, "you may not write to its directory").
		Hint("leave it out by naming what is to land: forkbox apply BOX PATH…").
		Hint("or have it applied by somebody who may write there")
}

// ancestors lists the directories from the root down to dir.
func ancestors(dir string) []string {
	if dir == "/" {
		return []string{"/"}
	}
	return append(ancestors(path.Dir(dir)), dir)
}

// tryPlace makes a staging directory in a directory of the tree; nil says
// that it has to be made further down.
func (s *site) tryPlace(in string, want mount) (*place, error) {
	fd, err := s.tree.dir(in)
	if err != nil {
		return nil, failed(opLand, in, err)
	}
	m, err := mountOf(fd)
	if err != nil || m != want || unix.Faccessat(fd, ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS) != nil {
		return nil, err
	}
	p := &place{K: len(s.places), In: in, Overlay: onOverlay(fd), mount: m, fd: -1}
	s.places = append(s.places, p)
	// The journal knows of it first: whatever happens, it is found again.
	if err := s.notePlace(p); err != nil {
		return nil, err
	}
	err = mkdir(fd, s.name)
	p.failed = err != nil
	switch {
	case refused(err):
		return nil, nil
	case err != nil:
		return nil, failed(opLand, join(in, s.name), err)
	}
	return p, s.furnish(p, fd)
}

func refused(err error) bool {
	return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS) || errors.Is(err, unix.ENOENT)
}

func (s *site) notePlace(p *place) error {
	note := *p
	note.In = pack(note.In)
	if err := s.noted.add(&note); err != nil {
		return err
	}
	return wrap(opLand, s.noted.sync())
}

// furnish prepares a staging directory that was just made. Until its inode is
// in the journal it stays empty: a recovery removes only what is surely ours.
func (s *site) furnish(p *place, parent int) error {
	if err := p.open(parent, s.name); err != nil {
		return failed(opLand, join(p.In, s.name), err)
	}
	o, err := fstat(p.fd)
	if err != nil {
		return failed(opLand, join(p.In, s.name), err)
	}
	p.Ino = o.Ino
	if err := s.notePlace(p); err != nil {
		return err
	}
	if err := p.plain(); err != nil {
		return failed(opLand, join(p.In, s.name), err)
	}
	// Out of `git status` and `git add`.
	if err := p.write(ignoreFile, "*\n"); err != nil {
		return failed(opLand, join(p.In, s.name), err)
	}
	return failed(opLand, join(p.In, s.name), s.introduce(p))
}

func (p *place) open(parent int, name string) error {
	fd, err := open(parent, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	p.fd, p.tree.root = fd, fd
	p.mount, err = mountOf(fd)
	return err
}

func (p *place) close() {
	p.tree.forget()
	if p.fd >= 0 {
		unix.Close(p.fd)
		p.fd = -1
	}
}

// plain takes back what the directory inherited from the one that it is in,
// for everything staged in it would inherit that too: default ACLs, and the
// group of a setgid directory.
func (p *place) plain() error {
	err := act("chmod", func() error { return unix.Fchmod(p.fd, 0o700) })
	if err != nil {
		return err
	}
	for _, acl := range []string{"system.posix_acl_default", "system.posix_acl_access"} {
		err := act("removexattr", func() error { return unix.Fremovexattr(p.fd, acl) })
		if err != nil && err != unix.ENODATA && err != unix.ENOTSUP {
			return err
		}
	}
	return nil
}

// slot opens the directory that a slot is in, and tells its name there.
func (p *place) slot(slot string) (int, string, error) { return p.tree.parent("/" + slot) }

// lookSlot describes what is in a slot; nil is nothing.
func (p *place) lookSlot(slot string) (*object, error) { return p.tree.look("/" + slot) }
