package change

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// An entry is its own sides: nothing is read before the caller asks.
var _ forkbox.Sides = (*entry)(nil)

var errNotRegular = errors.New("it is not a regular file")

// New is what the box has.
func (e *entry) New() (forkbox.Node, error) {
	if e.gone {
		return forkbox.Node{}, e.notThere("look at")
	}
	n, err := e.w.files.node(e.dir, e.name, e.up)
	if err == nil && e.isRoot() {
		err = e.rootXattrs(&n)
	}
	return n, e.named("look at", err)
}

// rootXattrs: the root of a filesystem did not get the base's attributes when
// its upper was made, so that one is missing does not mean that the box
// removed it.
func (e *entry) rootXattrs(n *forkbox.Node) error {
	kept, err := e.w.files.xattrs(e.baseDir, e.baseName)
	for name, value := range kept {
		if _, ok := n.Xattrs[name]; !ok {
			setXattrIn(n, name, value)
		}
	}
	return err
}

func (e *entry) isRoot() bool { return e.name == "." }

// Old is what reality has. Of what is hidden nothing is told, not even whether
// it is there.
func (e *entry) Old() (forkbox.Node, error) {
	if e.hidden || e.state == missing {
		return forkbox.Node{}, e.notThere("look at")
	}
	n, err := e.w.files.node(e.baseDir, e.baseName, e.base)
	return n, e.named("look at", err)
}

// Unshown says whether what reality has was never shown to the box: it lies in
// a directory of the box's own.
func (e *entry) Unshown() bool { return e.in.opaque && e.state == present }

// Born is when the inode that the box has was made; 0 where that is not told.
func (e *entry) Born() int64 { return born(e.dir, e.name) }

// UnshownSince is since when at the latest, where Unshown: the directory that the
// box has instead was made then; 0 where that is not told.
func (e *entry) UnshownSince() int64 {
	if len(e.in.parts) == 0 {
		return 0
	}
	return born(e.in.parts[len(e.in.parts)-1].dir, ".")
}

// BornOld is Born of what reality has.
func (e *entry) BornOld() int64 {
	if e.hidden || e.state == missing {
		return 0
	}
	return born(e.baseDir, e.baseName)
}

func (e *entry) OpenOld() (*os.File, error) {
	if e.hidden || e.state == missing {
		return nil, e.notThere("open")
	}
	return e.open(e.baseDir, e.baseName)
}

func (e *entry) OpenNew() (*os.File, error) {
	if e.gone {
		return nil, e.notThere("open")
	}
	if e.up.isRegular() && e.isMetacopy() {
		return e.openOrigin()
	}
	return e.open(e.dir, e.name)
}

// openOrigin opens the content of a file of which only the attributes were
// copied up. It is in the base: at the same path, unless the file was moved.
func (e *entry) openOrigin() (*os.File, error) {
	origin, ok := redirect(e.dir, e.name, e.in.origin, e.w.src.XattrPrefix)
	if !ok {
		return e.open(e.in.base, e.name)
	}
	if e.w.below(e.w.fromPath(origin)) {
		return nil, e.notThere("open") // the box was not shown it either
	}
	dir, err := openPath(e.w.moves.base, path.Dir(origin))
	if err != nil {
		return nil, e.named("open", err)
	}
	defer unix.Close(dir)
	return e.open(dir, path.Base(origin))
}

func (e *entry) open(dir int, name string) (*os.File, error) {
	if dir == none {
		return nil, e.notThere("open")
	}
	f, err := openForReading(dir, name, e.path)
	return f, e.named("open", err)
}

// openForReading opens a regular file for the caller to read.
func openForReading(dir int, name, path string) (*os.File, error) {
	fd, _, err := openContent(dir, name)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func (e *entry) isMetacopy() bool {
	_, ok := xattr(e.dir, e.name, e.w.files.metacopy)
	return ok
}

// Covered is where something was mounted over the base since the box changed
// it: what is there now is not what the box began from. "" if nothing was.
func (e *entry) Covered() string {
	if e.in.covered != "" || e.state != present || e.baseName == "." || e.w.wasMounted(e.path) {
		return e.in.covered
	}
	if isMountPoint(e.baseDir, e.baseName) {
		return e.path
	}
	return ""
}

// MovedHere is where the directory comes from that the box moved into the place
// of what it lost here; "" if it did no such thing.
func (e *entry) MovedHere() string { return e.movedHere }

func (e *entry) notThere(op string) error { return e.named(op, fs.ErrNotExist) }

func (e *entry) named(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: e.path, Err: err}
}
