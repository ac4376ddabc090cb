package layers

import (
	"context"
	"strconv"

	"golang.org/x/sys/unix"
)

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
