package change

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// moves knows which directories of the base a box has moved elsewhere. At the
// old path overlayfs leaves a whiteout like that of a deletion; only the
// directory at the new path tells them apart, and it may be anywhere. So the
// upper is searched once, and only when a directory of the base is gone.
type moves struct {
	prefix string
	mount  string
	upper  int
	base   int
	found  map[string]bool // by path in the base; nil before the search

	of        Upper
	displaced map[handle]bool // files that the box put something else in the place of; nil before somebody asked
}

// movedAway says whether the directory that the base has at e lives on
// elsewhere in the box.
func (w *walker) movedAway(e *entry) (bool, error) {
	if e.state != present || !e.base.isDir() || e.hidden {
		return false, nil
	}
	if err := w.moves.ready(); err != nil {
		return false, err
	}
	return w.moves.found[e.origin()], nil
}

// ready searches the upper, the first time.
func (m *moves) ready() error {
	if m.found != nil {
		return nil
	}
	m.found = map[string]bool{}
	return m.search(m.upper, "", 0)
}

func (m *moves) search(dir int, origin string, depth int) error {
	fd, err := openDir(dir, ".", beneath)
	if err != nil || depth > maxDepth {
		return keepFatal(err)
	}
	defer unix.Close(fd)
	names, err := list(fd)
	if err != nil {
		return keepFatal(err)
	}
	for _, name := range names {
		if err := m.look(fd, name, origin, depth); err != nil {
			return err
		}
	}
	return nil
}

func (m *moves) look(dir int, name, origin string, depth int) error {
	if up, err := lstat(dir, name); err != nil || !up.isDir() {
		return keepFatal(err)
	}
	sub, err := openDir(dir, name, beneath)
	if err != nil {
		return keepFatal(err)
	}
	defer unix.Close(sub)
	at := originOf(origin, name)
	if from, ok := redirect(sub, ".", origin, m.prefix); ok && from != at {
		at = from
		m.found[from] = true
	}
	return m.search(sub, at, depth+1)
}

// redirect reads where in the base a moved file comes from: "/a/b" from the
// root of its filesystem, or "b" beside where it is. Anything else was not
// written by overlayfs.
func redirect(dir int, name, parent, prefix string) (string, bool) {
	value, ok := xattr(dir, name, prefix+"redirect")
	if !ok {
		return "", false
	}
	to := string(value)
	if rel, abs := strings.CutPrefix(to, "/"); abs {
		to = rel
	} else if strings.Contains(to, "/") {
		return "", false
	} else {
		to = originOf(parent, to)
	}
	odd := func(part string) bool { return part == "" || part == "." || part == ".." }
	return to, !slices.ContainsFunc(strings.Split(to, "/"), odd)
}

// openPath opens a directory of the base, to look names up in it.
func openPath(dir int, name string) (int, error) {
	if dir == none {
		return none, unix.ENOENT
	}
	return openat(dir, name, unix.O_PATH|unix.O_DIRECTORY, beneath)
}

// fromPath is the path in the machine of a path in the base.
func (w *walker) fromPath(origin string) string { return path.Join(w.moves.mount, origin) }

// originOf joins paths that are relative to a filesystem's root, which is "".
func originOf(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
