package land

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// weight is what lies below a directory: how much, and what.
type weight struct {
	bytes int64
	tally Tally
}

// weigh looks at all that is kept: how many bytes on disk that is, and what is
// in each directory among it.
func (s *site) weigh() (total int64, err error) {
	s.weights = map[inPlace]Tally{}
	for _, p := range s.places {
		if p.fd < 0 {
			continue
		}
		n, err := s.weighPlace(p)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// inPlace names a slot.
type inPlace struct {
	place int
	slot  string
}

func (s *site) weighPlace(p *place) (total int64, err error) {
	names, err := linux.List(p.fd)
	if err != nil {
		return 0, unreadable(err)
	}
	for _, name := range names {
		if !isSlot(name) {
			continue
		}
		var w weight
		isDir, err := w.add(p.fd, name, "")
		if err != nil {
			return 0, err
		}
		total += w.bytes
		if isDir {
			s.weights[inPlace{p.K, name}] = w.tally
		}
	}
	return total, nil
}

// add weighs a name of a directory with all that is below it. Its own rel is
// "" where it is the directory that counts: itself is not in the tally.
func (w *weight) add(dir int, name, rel string) (isDir bool, err error) {
	glance()
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, unreadable(err)
	}
	w.bytes += st.Blocks * 512
	if rel != "" {
		w.tally.Add(rel, describe(&st).node())
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false, nil
	}
	fd, err := open(dir, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return true, unreadable(gone(err))
	}
	defer unix.Close(fd)
	return true, w.below(fd, rel)
}

// below weighs what an open directory has.
func (w *weight) below(fd int, rel string) error {
	names, err := linux.Names(fd)
	if err != nil {
		return unreadable(err)
	}
	for _, n := range names {
		if _, err := w.add(fd, n, path.Join(rel, n)); err != nil {
			return err
		}
	}
	return nil
}

// unreadable forgives what the caller may not look at: it is not counted.
func unreadable(err error) error {
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// tallyAt looks at all that is below a directory of the tree, with the rights
// of the process: what the owner may not read, a review may have read.
func (s *site) tallyAt(t *tree, p, rel string) (tally Tally, err error) {
	dir, name, err := t.parent(p)
	if err != nil {
		return tally, err
	}
	s.who.beside(func() {
		var w weight
		_, err = w.add(dir, name, rel)
		tally = w.tally
	})
	return tally, err
}

func (o *object) node() forkbox.Node {
	return forkbox.Node{Identity: o.Identity, Mode: fileMode(o.Mode), UID: int(o.UID), GID: int(o.GID), ModTime: time.Unix(0, o.Mtime), Nlink: o.Nlink}
}

// fileMode is the inverse of kernelMode.
func fileMode(k uint32) fs.FileMode {
	m := fs.FileMode(k & 0o777)
	switch k & unix.S_IFMT {
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	case unix.S_IFIFO:
		m |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		m |= fs.ModeSocket
	case unix.S_IFCHR:
		m |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		m |= fs.ModeDevice
	}
	if k&unix.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if k&unix.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if k&unix.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}
