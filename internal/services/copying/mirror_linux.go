package copying

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/storage/filecopy"
)

// mirror makes trees like others, and again when these have changed: what it saw
// the last time it passes over.
type mirror struct {
	share sharing
	seen  map[string]mark // by path, of what the copy has as it was then
	buf   []byte          // for attributes
	a, b  []byte          // for content

	// Of one pass.
	ctx    context.Context
	hot    bool // the tree is written to meanwhile: what is missed is for the next pass
	mapped map[string]bool
	next   map[string]mark
	drop   []string         // patterns of names that the copy of a path must not have
	links  map[inode]string // where the copy of a file with several names is
	counts
	step func(bytes int64)
}

// sharing says whether blocks are shared with the original.
type sharing int

const (
	neverShare sharing = iota
	mayShare
	mustShare
)

// counts is what a pass did.
type counts struct {
	files  int
	bytes  int64 // of all files, and of those of each item
	looked int64 // of those that were read
	of     map[string]int64
}

// place is a name in an open directory.
type place struct {
	dir        int
	name, path string
}

func newMirror(share sharing) *mirror {
	return &mirror{share: share, seen: map[string]mark{}, buf: make([]byte, filecopy.XattrMax), a: make([]byte, piece), b: make([]byte, piece), step: func(int64) {}}
}

// pass makes the copies like what they are copies of. After an error they are
// something in between.
func (m *mirror) pass(ctx context.Context, items []item, hot bool, mapped map[string]bool) error {
	m.ctx, m.hot, m.mapped = ctx, hot, mapped
	m.next, m.links, m.counts = map[string]mark{}, map[inode]string{}, counts{of: map[string]int64{}}
	for _, it := range items {
		before := m.bytes
		if err := m.top(it); err != nil {
			return err
		}
		m.of[it.from] = m.bytes - before
	}
	m.seen = m.next
	return nil
}

// top copies one of the given paths. Nothing on the way to it may be a link: who
// runs the service could have put it there to have something else read.
func (m *mirror) top(it item) error {
	m.drop = it.drop
	src, err := linux.OpenAt(unix.AT_FDCWD, path.Dir(it.from), unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return m.failed(it.from, err)
	}
	defer unix.Close(src)
	dst, err := unix.Open(path.Dir(it.to), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return m.failed(it.to, err)
	}
	defer unix.Close(dst)
	return m.entry(place{src, path.Base(it.from), it.from}, place{dst, path.Base(it.to), it.to}, "")
}

// entry makes one name like another. Sockets, pipes and devices are no data: who
// starts on the copy makes its own.
func (m *mirror) entry(src, dst place, rel string) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	var st unix.Stat_t
	err := unix.Fstatat(src.dir, src.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil {
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			err = m.directory(src, dst, rel)
		case unix.S_IFREG, unix.S_IFLNK:
			err = m.file(src, dst, &st)
		default:
			err = dst.clear()
		}
	}
	switch {
	case errors.Is(err, unix.ENOENT) && m.vanished(src): // removed since its directory was listed
		return dst.clear()
	case m.hot && errors.Is(err, errChanging):
		return nil // it is not in next: the next pass looks at it
	}
	return m.failed(src.path, err)
}

// vanished says whether a name is gone, so that an error is about that.
func (m *mirror) vanished(src place) bool {
	var st unix.Stat_t
	return errors.Is(unix.Fstatat(src.dir, src.name, &st, unix.AT_SYMLINK_NOFOLLOW), unix.ENOENT)
}

// errChanging is told of what becomes something else while it is copied.
var errChanging = errors.New("it was replaced or cut while it was copied")

// failed says which file it was. Directories on the way up add nothing.
func (m *mirror) failed(name string, err error) error {
	var done *forkbox.Error
	if err == nil || errors.As(err, &done) || m.ctx.Err() != nil {
		return err
	}
	e := forkbox.Errorf(forkbox.Internal, opTake, "%s: %w", name, err)
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		e.Code = forkbox.Denied
	case errors.Is(err, filecopy.ErrNoSharing):
		e.Code = forkbox.Unsupported
	case errors.Is(err, errChanging):
		e.Code = forkbox.Busy
		e.Hint("a process that does not belong to the service writes there as well")
	case errors.Is(err, unix.ENOENT):
		e.Code = forkbox.NotFound
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		e.Hint("free some space on the store's filesystem")
	}
	return e
}

// maxDepth bounds how many directories are open at once.
const maxDepth = 200

// directory makes a directory like another: what is in it, nothing else, and at
// last its attributes, which may forbid to write there.
func (m *mirror) directory(src, dst place, rel string) error {
	if strings.Count(rel, "/") >= maxDepth {
		return fmt.Errorf("more than %d directories lie in one another", maxDepth)
	}
	from, err := linux.OpenAt(src.dir, src.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, linux.Beneath)
	if err != nil {
		return changing(err)
	}
	defer unix.Close(from)
	attrs, err := filecopy.Handle{FD: from, Real: true}.Read(m.buf)
	if err != nil {
		return err
	}
	to, err := dst.openDirectory()
	if err != nil {
		return err
	}
	defer unix.Close(to)
	if err := m.children(place{from, "", src.path}, place{to, "", dst.path}, rel); err != nil {
		return err
	}
	if m.hot {
		return nil // it is written to again
	}
	return filecopy.Handle{FD: to, Real: true}.Redress(attrs, m.buf)
}

func (m *mirror) children(src, dst place, rel string) error {
	names, err := linux.Names(src.dir)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return dropped(m.drop, path.Join(rel, name)) })
	has, err := linux.Names(dst.dir)
	if err != nil {
		return err
	}
	for _, name := range has {
		if _, wanted := slices.BinarySearch(names, name); !wanted {
			if err := dst.in(name).clear(); err != nil {
				return err
			}
		}
	}
	for _, name := range names {
		if err := m.entry(src.in(name), dst.in(name), path.Join(rel, name)); err != nil {
			return err
		}
	}
	return nil
}

// dropped says whether a name is among those that the copy must not have.
func dropped(patterns []string, rel string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		is, _ := path.Match(pattern, rel)
		return is
	})
}

// symlink copies a link, which is never changed but replaced.
func (m *mirror) symlink(src, dst place, st *unix.Stat_t) error {
	if was := m.seen[src.path]; was.same(markOf(st)) {
		m.next[src.path] = was
		return nil
	}
	now := stampNow()
	fd, err := linux.OpenAt(src.dir, src.name, unix.O_PATH|unix.O_NOFOLLOW, unix.RESOLVE_BENEATH)
	if err != nil {
		return changing(err)
	}
	defer unix.Close(fd)
	attrs, err := filecopy.Handle{FD: fd}.Read(m.buf)
	if err != nil {
		return err
	}
	n, err := unix.Readlinkat(fd, "", m.buf[:unix.PathMax])
	if err != nil {
		return errChanging // it is none any more
	}
	if err := dst.clear(); err != nil {
		return err
	}
	if err := unix.Symlinkat(string(m.buf[:n]), dst.dir, dst.name); err != nil {
		return err
	}
	made, err := linux.OpenAt(dst.dir, dst.name, unix.O_PATH|unix.O_NOFOLLOW, unix.RESOLVE_BENEATH)
	if err != nil {
		return err
	}
	defer unix.Close(made)
	m.next[src.path] = markOf(&attrs.Stat).since(now)
	return filecopy.Handle{FD: made}.Dress(attrs)
}

// changing turns what a name says that has become something else since it was
// looked at into one error.
func changing(err error) error {
	for _, is := range []error{unix.ELOOP, unix.ENOTDIR, unix.EISDIR, unix.ENXIO, filecopy.ErrShorter} {
		if errors.Is(err, is) {
			return errChanging
		}
	}
	return err
}

// in is a name in a directory.
func (p place) in(name string) place { return place{p.dir, name, path.Join(p.path, name)} }

// clear removes what is there.
func (p place) clear() error {
	err := unix.Unlinkat(p.dir, p.name, 0)
	switch {
	case err == nil, errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.EISDIR), errors.Is(err, unix.EPERM):
		return os.RemoveAll(p.path)
	}
	return err
}

// openDirectory opens a directory, and has it be one.
func (p place) openDirectory() (int, error) {
	open := func() (int, error) {
		return unix.Openat(p.dir, p.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	fd, err := open()
	if err == nil {
		return fd, nil
	}
	if err := p.clear(); err != nil {
		return -1, err
	}
	if err := unix.Mkdirat(p.dir, p.name, 0o700); err != nil {
		return -1, err
	}
	return open()
}
