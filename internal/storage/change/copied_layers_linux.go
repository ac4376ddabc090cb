package change

import (
	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
)

// copied is a file that overlayfs noted to be a copy.
type copied struct {
	dir  int // it is name in here
	name string
}

// beginning is what the box's file was when the base was copied for it. A file
// of a layer is copied again when the box writes to it: notes are followed down
// to one about the base. ok is false for a file that began in the box.
func (e *entry) beginning() (c copied, ok bool) {
	c = copied{dir: e.dir, name: e.name}
	for lower := e.lowerParts(); ; lower = lower[1:] {
		_, has := xattr(c.dir, c.name, e.w.src.XattrPrefix+"origin")
		if len(lower) == 0 || !e.isCopyIn(lower[0], has) {
			return c, has
		}
		c.dir = lower[0].dir
	}
}

// lowerParts are those that have the name as well, below the one that decides.
func (e *entry) lowerParts() (lower []part) {
	for _, i := range e.owners {
		if i < len(e.in.parts) {
			lower = append(lower, e.in.parts[i])
		}
	}
	return lower[min(1, len(lower)):]
}

// isCopyIn says whether something that has a note, or none, is a copy of what a
// layer below has under the same name. Overlayfs writes no note where the
// original is a file with several names, as all have in a layer that was
// flattened.
func (e *entry) isCopyIn(p part, has bool) bool {
	f, err := lstat(p.dir, e.name)
	if err != nil || p.marked && isMarkedWhiteout(p.dir, e.name, e.w.src.XattrPrefix) {
		return false
	}
	return f.isRegular() && (has || f.Nlink > 1) || f.isDir() && has
}

func isMarkedWhiteout(dir int, name, prefix string) bool {
	_, ok := xattr(dir, name, prefix+"whiteout")
	return ok
}

// noteLayer remembers the files of a layer that began in the box. What cannot be
// read is left out: then its copies are taken for copies of the base.
func (m *moves) noteLayer(dir int, name string, depth int) {
	fd, err := openDir(dir, name, beneath)
	if err != nil || depth > maxDepth {
		return
	}
	defer unix.Close(fd)
	names, _ := linux.Names(fd)
	for _, n := range names {
		f, err := lstat(fd, n)
		switch {
		case err != nil:
		case f.isDir():
			m.noteLayer(fd, n, depth+1)
		case f.isRegular():
			if _, has := xattr(fd, n, m.stack.origin); !has {
				m.displaced[f.stamp()] = true
			}
		}
	}
}
