package layers

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// counter adds up the blocks of inodes, one owner after the other.
type counter struct {
	ctx   context.Context
	usage *Usage
	now   *owner
	chain chain
	seen  map[inode]*seen
}

// seen is an inode that has other names.
type seen struct {
	first, last *owner
}

func count(ctx context.Context, owners []*owner, u *Usage) error {
	c := &counter{ctx: ctx, usage: u, seen: map[inode]*seen{}}
	for _, o := range owners {
		c.now = o
		err := c.tree(o)
		c.chain.close()
		if err != nil {
			return fmt.Errorf("%s: %w", o.path, err)
		}
	}
	return nil
}

func (c *counter) tree(o *owner) error {
	var st unix.Stat_t
	if err := unix.Lstat(o.path, &st); err != nil {
		return ignoreGone(err)
	}
	c.add(&st)
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	if err := c.chain.begin(o.path); err != nil {
		return c.unread(err)
	}
	return c.below(o.skip)
}

// below counts what is in the lowest directory, which it leaves.
func (c *counter) below(skip func(string) bool) error {
	names, err := listAll(c.chain.here())
	if ignoreGone(err) != nil {
		return err
	}
	for _, name := range names {
		if skip != nil && skip(name) {
			continue
		}
		if err := c.entry(name); err != nil {
			return err
		}
	}
	if err := c.chain.raise(openUp); err != nil {
		return err
	}
	c.chain.pop()
	return nil
}

func (c *counter) entry(name string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(c.chain.here(), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return c.unread(err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		c.add(&st)
		return nil
	}
	fd, err := openIn(c.chain.here(), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOATIME)
	if errors.Is(err, unix.EPERM) { // it is not ours
		fd, err = openIn(c.chain.here(), name, unix.O_RDONLY|unix.O_DIRECTORY)
	}
	if errors.Is(err, errMounted) {
		return nil // what is mounted there does not belong to the store
	}
	c.add(&st)
	if err != nil {
		return c.unread(err)
	}
	if err := c.chain.push(fd); err != nil {
		return err
	}
	return c.below(nil)
}

// unread forgives what vanished or may not be read.
func (c *counter) unread(err error) error {
	switch {
	case errors.Is(err, unix.EACCES):
		c.usage.Unread++
		return nil
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP): // it was replaced
		return nil
	}
	return ignoreGone(err)
}

// add counts an inode for the owner that it was found at.
func (c *counter) add(st *unix.Stat_t) {
	size := st.Blocks * 512
	one := Bytes{Own: size, All: size, Files: 1}
	if st.Nlink == 1 || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		c.now.add(one)
		c.usage.Total.add(one)
		return
	}
	known := c.seen[inodeOf(st)]
	switch {
	case known == nil:
		c.seen[inodeOf(st)] = &seen{first: c.now, last: c.now}
		c.now.add(one)
		c.usage.Total.add(one)
	case known.last != c.now:
		if known.first == known.last { // so far it was that one's own
			known.first.Own -= size
		}
		known.last = c.now
		c.now.add(Bytes{All: size, Files: 1})
	}
}
