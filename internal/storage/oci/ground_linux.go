package oci

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// ground is where an archive is laid out.
type ground interface {
	// top is the directory that a path belongs in, which stays open, and the
	// path in it.
	top(path string) (fd int, rel string, err error)
	// resolve is how the kernel walks to a directory below top.
	resolve() uint64
}

// wholeRoot is one directory that is the root of everything. Images write
// through symlinks of their lower layers (lib -> usr/lib), so they are
// followed, but never further than to this root.
type wholeRoot struct{ fd int }

func (w *wholeRoot) top(path string) (int, string, error) { return w.fd, path, nil }
func (w *wholeRoot) resolve() uint64                      { return inRoot }

// spreadLayer is one layer over the filesystems of this machine. What an
// overlay's upper holds never lies behind a symlink, so none is followed.
type spreadLayer struct {
	place func(path string) (dir, rel string, err error)
	tops  map[string]int
}

func (s *spreadLayer) resolve() uint64 { return stay }

func (s *spreadLayer) top(path string) (int, string, error) {
	dir, rel, err := s.place("/" + path)
	if err != nil {
		return -1, "", err
	}
	fd, ok := s.tops[dir]
	if !ok {
		if fd, err = openTop(dir); err != nil {
			return -1, "", err
		}
		s.tops[dir] = fd
	}
	rel = strings.Trim(rel, "/")
	if rel == "." {
		rel = ""
	}
	return fd, rel, nil
}

func (s *spreadLayer) close() {
	for _, fd := range s.tops {
		unix.Close(fd)
	}
}

// spot is where an entry is to be: a name in an open directory.
type spot struct {
	dir  int
	name string // "." is the directory itself, the root of a filesystem
	path string // in the archive
}

func (s *spot) close() { unix.Close(s.dir) }

// at finds where a path is to be. Directories that the archive did not speak
// of are made.
func (u *unpacker) at(path string) (*spot, error) {
	top, rel, err := u.ground.top(path)
	if err != nil {
		return nil, err
	}
	dir, name := splitPath(rel)
	if name == "" {
		name = "."
	}
	fd, err := u.folder(top, dir, strings.TrimSuffix(strings.TrimSuffix(path, name), "/"))
	if err != nil {
		return nil, err
	}
	return &spot{dir: fd, name: name, path: path}, nil
}

// folder opens a directory below top, made if need be. path is the whole of
// it in the archive.
func (u *unpacker) folder(top int, dir, path string) (int, error) {
	fd, err := u.openFolder(top, dir)
	if errors.Is(err, unix.ENOENT) {
		return u.makeFolders(top, dir, strings.TrimSuffix(path, dir))
	}
	return fd, err
}

// find is at, for what may only be looked for: nothing is made on the way.
func (u *unpacker) find(path string) (*spot, error) {
	top, rel, err := u.ground.top(path)
	if err != nil {
		return nil, err
	}
	dir, name := splitPath(rel)
	fd, err := u.openFolder(top, dir)
	if err != nil {
		return nil, err
	}
	return &spot{dir: fd, name: name, path: path}, nil
}

func (u *unpacker) openFolder(top int, dir string) (int, error) {
	if dir == "" {
		dir = "."
	}
	return linux.OpenAt(top, dir, unix.O_PATH|unix.O_DIRECTORY, u.ground.resolve())
}

// makeFolders makes the directories on the way to dir, and opens it. before is
// what leads to top in the archive.
func (u *unpacker) makeFolders(top int, dir, before string) (int, error) {
	fd, err := u.openFolder(top, "")
	for end := 0; err == nil && end < len(dir); end++ {
		if i := strings.IndexByte(dir[end:], '/'); i >= 0 {
			end += i
		} else {
			end = len(dir)
		}
		next, oerr := u.openFolder(top, dir[:end])
		if errors.Is(oerr, unix.ENOENT) {
			next, oerr = u.makeFolder(fd, dir[:end], before)
		}
		unix.Close(fd)
		fd, err = next, oerr
	}
	return fd, err
}

func (u *unpacker) makeFolder(parent int, dir, before string) (int, error) {
	_, name := splitPath(dir)
	err := unix.Mkdirat(parent, name, 0o700)
	if errors.Is(err, unix.EEXIST) {
		return -1, refused(dir, "it is a symlink that leads nowhere")
	}
	if err != nil {
		return -1, err
	}
	s := &spot{dir: parent, name: name, path: before + dir}
	u.note(s)
	if err := u.remember(s, u.implied(before+dir)); err != nil {
		return -1, err
	}
	return open(parent, name, unix.O_PATH|unix.O_DIRECTORY)
}

// implied is what a directory is like that the archive has something in and
// says nothing of.
func (u *unpacker) implied(path string) attrs {
	a := attrs{mode: 0o755, uid: u.rights.uid, gid: u.rights.gid}
	if u.form.Parent == nil {
		return a
	}
	node, err := u.form.Parent("/" + path)
	if err != nil || !node.Mode.IsDir() {
		return a
	}
	return attrsOfNode(node)
}

// note remembers that this layer made a name.
func (u *unpacker) note(s *spot) {
	if u.made == nil {
		return
	}
	if dir, err := identify(s.dir); err == nil {
		u.made[slot{dir, s.name}] = true
	}
}

func identify(fd int) (inode, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return inode{uint64(st.Dev), st.Ino}, err
}

func attrsOfNode(n forkbox.Node) attrs {
	mode := uint32(n.Mode.Perm())
	if n.Mode&fs.ModeSticky != 0 {
		mode |= unix.S_ISVTX
	}
	if n.Mode&fs.ModeSetgid != 0 {
		mode |= unix.S_ISGID
	}
	a := attrs{mode: mode, uid: n.UID, gid: n.GID, mtime: n.ModTime, xattrs: map[string]string{}}
	for name, value := range n.Xattrs {
		a.xattrs[name] = string(value)
	}
	return a
}
