package layers

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// inode names a file whatever its names are.
type inode struct{ dev, ino uint64 }

func inodeOf(st *unix.Stat_t) inode { return inode{uint64(st.Dev), st.Ino} }

// chain is the directories from the root of a tree down to where a walk is.
// Only the lowest are open, so that a box cannot use up the daemon's file
// descriptors by nesting directories; the others are found again by "..".
type chain struct {
	links []link
	first int // that is open; all after it are as well
}

type link struct {
	fd int
	id inode
}

// begin opens the root of a tree.
func (c *chain) begin(dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	return c.push(fd)
}

// here is the lowest directory.
func (c *chain) here() int { return c.links[len(c.links)-1].fd }

// push adds a directory that lies in the lowest. It belongs to the chain from
// now on, also after an error.
func (c *chain) push(fd int) error {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	c.links = append(c.links, link{fd, inodeOf(&st)})
	if len(c.links)-c.first > holdDepth {
		unix.Close(c.links[c.first].fd)
		c.first++
	}
	return err
}

// raise opens the directory above the lowest, if it is not open. It has to be
// the same that it was: a process that moves directories about must not lead us
// out.
func (c *chain) raise(open func(dir int, name string) (int, error)) error {
	above := len(c.links) - 2
	if above < 0 || above >= c.first {
		return nil
	}
	fd, err := open(c.here(), "..")
	if err != nil {
		return fmt.Errorf("go back up: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || inodeOf(&st) != c.links[above].id {
		unix.Close(fd)
		return errors.Join(errors.New("the directory was moved meanwhile"), err)
	}
	c.links[above].fd, c.first = fd, above
	return nil
}

// pop closes the lowest directory. The one above it is open: see raise.
func (c *chain) pop() {
	unix.Close(c.here())
	c.links = c.links[:len(c.links)-1]
}

func (c *chain) close() {
	for _, l := range c.links[c.first:] {
		unix.Close(l.fd)
	}
	c.links, c.first = nil, 0
}

var errMounted = errors.New("a filesystem is still mounted")

// openIn opens a name in a directory. It follows nothing and does not cross
// into what is mounted there.
func openIn(dir int, name string, flags uint64) (int, error) {
	for {
		fd, err := unix.Openat2(dir, name, &unix.OpenHow{
			Flags:   flags | unix.O_NOFOLLOW | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS,
		})
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN): // a signal; a rename elsewhere
		case errors.Is(err, unix.EXDEV):
			return -1, forkbox.Errorf(forkbox.Busy, "read a box's files", "%w at %q", errMounted, name).
				Hint("stop the box, or unmount what was mounted there by hand, and try again")
		default:
			return fd, err
		}
	}
}

// openUp opens "..", which openIn would not.
func openUp(dir int, name string) (int, error) {
	return unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// listAll names everything in a directory that was just opened.
func listAll(dir int) ([]string, error) {
	var names []string
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(dir, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 || err != nil {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}
