package layers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/filecopy"
	"golang.org/x/sys/unix"
)

const opClone = "copy a box's files"

// cloner copies a tree so that overlayfs cannot tell the copy from it:
// content with its holes, modes, owners, all extended attributes, times, hard
// links, and files of every type. What it does not carry over are the flags of
// chattr and the time of birth.
type cloner struct {
	ctx    context.Context
	share  sharing
	still  bool // no process uses the source: what is locked may be unlocked for a moment
	src    chain
	dst    chain
	root   string // the directory that the copy is made in
	linked map[inode]*linked
	path   []string // where it is, for people
	buf    []byte
}

// cloneTree copies from/upper to to/upper, and nothing else that is in from.
// to exists and is empty. After an error it holds whatever was copied.
func cloneTree(ctx context.Context, from, to string, share sharing, still bool) error {
	c := &cloner{ctx: ctx, share: share, still: still, root: to, linked: map[inode]*linked{}, buf: make([]byte, filecopy.XattrMax)}
	defer c.src.close()
	defer c.dst.close()
	if err := errors.Join(c.src.begin(from), c.dst.begin(to)); err != nil {
		return err
	}
	if !exists(filepath.Join(from, "upper")) { // a box whose start failed half-way
		return os.Mkdir(filepath.Join(to, "upper"), 0o700)
	}
	// Else everything would inherit a default ACL of the store's directory.
	_ = unix.Removexattr(to, "system.posix_acl_default")
	if err := c.entry("upper"); err != nil {
		return err
	}
	return c.dropLinks()
}

// Adopt has something of the store that nobody writes to be a part of the draft. It
// may leave it where it is: nothing can be renamed out of a subvolume. Both have one
// name.
func (d *Draft) Adopt(ctx context.Context, from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	to = filepath.Dir(to)
	c := &cloner{ctx: ctx, share: mayShare, still: true, root: to, linked: map[inode]*linked{}, buf: make([]byte, filecopy.XattrMax)}
	defer c.src.close()
	defer c.dst.close()
	if err := errors.Join(c.src.begin(filepath.Dir(from)), c.dst.begin(to)); err != nil {
		return err
	}
	if err := c.entry(filepath.Base(from)); err != nil {
		return err
	}
	return c.dropLinks()
}

// entry copies one name of the directory that the walk is in.
func (c *cloner) entry(name string) error {
	c.path = append(c.path, name)
	if err := c.ctx.Err(); err != nil {
		return err
	}
	var st unix.Stat_t
	err := c.reach(func(dir int) error { return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err == nil {
		err = c.copy(name, &st)
	}
	if err != nil {
		return c.failed(err)
	}
	c.path = c.path[:len(c.path)-1]
	return nil
}

func (c *cloner) copy(name string, st *unix.Stat_t) (err error) {
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return c.directory(name)
	}
	if linked, err := c.relink(name, st); linked || err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		err = c.file(name)
	} else {
		err = c.special(name, st)
	}
	if err == nil && st.Nlink > 1 {
		err = c.remember(name, st)
	}
	return err
}

// failed says which file it was. Directories on the way up add nothing.
func (c *cloner) failed(err error) error {
	var done *forkbox.Error
	if errors.As(err, &done) || c.ctx.Err() != nil {
		return err
	}
	path := shorten(strings.Join(c.path, "/"))
	e := forkbox.Errorf(forkbox.Internal, opClone, "%q: %w", path, err).About(path, err.Error())
	switch {
	case errors.Is(err, errLocked):
		e.Code = forkbox.Busy
		e.Hint("stop the box, or let its owner read the file")
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		e.Code = forkbox.Denied
	case errors.Is(err, filecopy.ErrNoSharing):
		e.Code = forkbox.Unsupported
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		e.Hint("free some space on the store's filesystem")
	}
	return e
}

// shorten keeps a box from filling a screen with a path.
func shorten(path string) string {
	const end = 200
	if len(path) <= 2*end {
		return path
	}
	return path[:end] + "…" + path[len(path)-end:]
}

// directory copies a directory and what is in it. It gets its attributes
// last: until then it must be writable, must not hand down a default ACL, and
// its time changes.
func (c *cloner) directory(name string) error {
	src, attrs, err := c.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0o500)
	if err != nil {
		return err
	}
	if err := c.src.push(src); err != nil {
		return err
	}
	names, err := listAll(src)
	if err != nil {
		return err
	}
	if err := c.descend(name); err != nil {
		return err
	}
	for _, name := range names {
		if err := c.entry(name); err != nil {
			return err
		}
	}
	return c.ascend(attrs)
}

func (c *cloner) descend(name string) error {
	if err := unix.Mkdirat(c.dst.here(), name, 0o700); err != nil {
		return err
	}
	dst, err := openIn(c.dst.here(), name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	return c.dst.push(dst)
}

// ascend finishes a directory. Its attributes may forbid us to go up from
// there, hence the order.
func (c *cloner) ascend(attrs *filecopy.Attributes) error {
	err := c.src.raise(func(dir int, name string) (fd int, err error) {
		err = c.reach(func(dir int) error {
			fd, err = openUp(dir, name)
			return err
		})
		return fd, err
	})
	if err == nil {
		err = c.dst.raise(func(dir int, name string) (int, error) {
			return unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		})
	}
	if err == nil {
		err = filecopy.Handle{FD: c.dst.here(), Real: true}.Dress(attrs)
	}
	if err != nil {
		return err
	}
	c.src.pop()
	c.dst.pop()
	return nil
}

// file copies a regular file.
func (c *cloner) file(name string) error {
	src, attrs, err := c.open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0o400)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	if attrs.Stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return errors.New("it was replaced meanwhile")
	}
	dst, err := unix.Openat(c.dst.here(), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	if err := c.content(dst, src, attrs.Stat.Size); err != nil {
		return err
	}
	return filecopy.Handle{FD: dst, Real: true}.Dress(attrs)
}

// special copies a symlink, fifo, socket or device; a whiteout is a device.
func (c *cloner) special(name string, st *unix.Stat_t) error {
	src, attrs, err := c.open(name, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		err = c.symlink(src, name)
	} else {
		err = unix.Mknodat(c.dst.here(), name, st.Mode&unix.S_IFMT|0o600, int(st.Rdev))
	}
	if err != nil {
		return err
	}
	dst, err := openIn(c.dst.here(), name, unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	return filecopy.Handle{FD: dst}.Dress(attrs)
}

func (c *cloner) symlink(src int, name string) error {
	n, err := unix.Readlinkat(src, "", c.buf[:unix.PathMax])
	if err != nil {
		return err
	}
	return unix.Symlinkat(string(c.buf[:n]), c.dst.here(), name)
}

// linksDir is where the copy of a file with several names has one more while
// the tree is copied. From there it is linked to where its other names are:
// by their paths it could not be found again, which may be too long, or lead
// through directories that have become unreadable.
const linksDir = "links"

// linked is a copied file that has names left.
type linked struct {
	name string // in linksDir
	left uint64
}

// relink gives a file its next name, if it has been copied already.
func (c *cloner) relink(name string, st *unix.Stat_t) (bool, error) {
	l := c.linked[inodeOf(st)]
	if l == nil {
		return false, nil
	}
	links, err := c.openLinks()
	if err != nil {
		return true, err
	}
	defer unix.Close(links)
	l.left--
	if l.left > 0 {
		return true, unix.Linkat(links, l.name, c.dst.here(), name, 0)
	}
	// It has them all: one more than the source might be too many.
	delete(c.linked, inodeOf(st))
	return true, unix.Renameat(links, l.name, c.dst.here(), name)
}

// remember keeps a file that was just copied for its other names.
func (c *cloner) remember(name string, st *unix.Stat_t) error {
	links, err := c.openLinks()
	if err != nil {
		return err
	}
	defer unix.Close(links)
	l := &linked{name: strconv.FormatUint(uint64(st.Dev), 36) + "." + strconv.FormatUint(st.Ino, 36), left: uint64(st.Nlink) - 1}
	c.linked[inodeOf(st)] = l
	return unix.Linkat(c.dst.here(), name, links, l.name, 0)
}

func (c *cloner) openLinks() (int, error) {
	path := c.root + "/" + linksDir
	if len(c.linked) == 0 {
		if err := unix.Mkdir(path, 0o700); err != nil && err != unix.EEXIST {
			return -1, err
		}
	}
	return unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// dropLinks removes the names that were only for the time of copying: of files
// whose other names are not in the tree.
func (c *cloner) dropLinks() error {
	return removeTree(context.WithoutCancel(c.ctx), c.root, linksDir)
}
