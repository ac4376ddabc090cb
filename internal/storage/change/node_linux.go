package change

import (
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// attempts is how often a file that changes while it is looked at is looked
// at again. Who writes faster than that gets an error.
const attempts = 100

// describer tells of files in full: what belongs to them, and nothing of the
// bookkeeping that overlayfs keeps in their attributes.
type describer struct {
	prefix   string // of that bookkeeping
	metacopy string // the attribute of a file that has its content elsewhere
}

func newDescriber(src Source) describer {
	return describer{src.XattrPrefix, src.XattrPrefix + "metacopy"}
}

// node describes a file in full. What belongs to it takes several calls; that
// they spoke of the same file at the same moment is checked at the end, since
// a review is bound to what it says.
func (d describer) node(dir int, name string, f file) (forkbox.Node, error) {
	for range attempts {
		n := f.node()
		err := d.complete(&n, dir, name)
		after, statErr := lstat(dir, name)
		if statErr != nil {
			return forkbox.Node{}, statErr
		}
		if after.identity() == n.Identity {
			return n, err
		}
		f = after
	}
	return forkbox.Node{}, unix.EBUSY
}

// complete adds what lstat does not tell.
func (d describer) complete(n *forkbox.Node, dir int, name string) (err error) {
	if n.Mode.Type() == fs.ModeSymlink {
		if n.Target, err = readlink(dir, name); err != nil {
			return err
		}
	}
	n.Xattrs, err = d.xattrs(dir, name)
	return err
}

func setXattrIn(n *forkbox.Node, name string, value []byte) {
	if n.Xattrs == nil {
		n.Xattrs = map[string][]byte{}
	}
	n.Xattrs[name] = value
}

func (f file) identity() forkbox.Identity {
	return forkbox.Identity{Dev: f.Dev, Ino: f.Ino, Ctime: f.Ctim.Nano(), Size: f.Size}
}

func (f file) node() forkbox.Node {
	return forkbox.Node{
		Identity: f.identity(),
		Mode:     f.mode(),
		UID:      int(f.Uid), GID: int(f.Gid),
		ModTime: f.modTime(),
		Rdev:    f.Rdev,
		Nlink:   uint64(f.Nlink),
	}
}

// readlink reads a symlink, of whatever length.
func readlink(dir int, name string) (string, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(dir, name, buf)
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}
