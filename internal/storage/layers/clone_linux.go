package layers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

const opClone = "copy a box's files"

// cloner copies a tree so that overlayfs cannot tell the copy from it:
// content with its holes, modes, owners, all extended attributes, times, hard
// links, and files of every type. What it does not carry over are the flags of
// chattr and the time of birth.
type cloner struct {
	ctx    context.Context
	share  sharing
	still  bool // nobody uses the source: what is locked may be unlocked for a moment
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
	c := &cloner{ctx: ctx, share: share, still: still, root: to, linked: map[inode]*linked{}, buf: make([]byte, xattrMax)}
	defer c.src.close()
	defer c.dst.close()
	if err := errors.Join(c.src.begin(from), c.dst.begin(to)); err != nil {
		return err
	}
	if !exists(filepath.Join(from, "upper")) { // a box whose start failed half-way
		return os.Mkdir(filepath.Join(to, "upper"), 0o700)
	}
	// Else everything would inherit what somebody decreed for the store.
	_ = unix.Removexattr(to, "system.posix_acl_default")
	if err := c.entry("upper"); err != nil {
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
	case errors.Is(err, errNoSharing):
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
