package change

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// moves knows which directories of the base a box has moved elsewhere. At the
// old path overlayfs leaves a whiteout like that of a deletion; only the
// directory at the new path tells them apart, and it may be anywhere. So the
// layers are searched once, and only when a directory of the base is gone.
type moves struct {
	stack *stack
	mount string
	base  int
	found map[string]string // where the box has them, by path in the base; nil before the search

	of        Upper
	displaced map[stamp]bool // files that the box put something else in the place of; nil before the first question
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
	_, moved := w.moves.found[e.origin()]
	return moved, nil
}

// ready searches the layers, the first time.
func (m *moves) ready() error {
	if m.found != nil {
		return nil
	}
	m.found = map[string]string{}
	// Opened again: listing a directory moves on in it, and a walker is there.
	tops, err := reopen(m.stack.tops)
	if err != nil {
		return keepFatal(err)
	}
	defer closeParts(tops)
	return m.search(shown{parts: tops}, 0)
}

func reopen(parts []part) ([]part, error) {
	var again []part
	for _, p := range parts {
		fd, err := openDir(p.dir, ".", beneath)
		if err != nil {
			closeParts(again)
			return nil, err
		}
		p.dir = fd
		again = append(again, p)
	}
	return again, nil
}

// shown is a directory as overlayfs shows it.
type shown struct {
	parts  []part
	at     string // from the root of its filesystem
	origin string // where the base has it
	opaque bool   // nothing of the base shows in it
}

func (m *moves) search(in shown, depth int) error {
	if depth > maxDepth {
		return nil
	}
	r, err := roll(in.parts)
	if err != nil {
		return keepFatal(err)
	}
	for i, name := range r.names {
		up, err := lstat(r.top(i, in.parts).dir, name)
		if err == nil && up.isDir() {
			err = m.look(in, r.ownersOf(i), name, depth)
		}
		if err = keepFatal(err); err != nil {
			return err
		}
	}
	return nil
}

func (m *moves) look(in shown, owners []int, name string, depth int) error {
	t, err := m.stack.find(in.parts, owners, name)
	if err != nil {
		return err
	}
	defer closeParts(t.parts)
	sub := shown{parts: t.parts, at: originOf(in.at, name), origin: originOf(in.origin, name)}
	from, shows := t.origin(in.origin, in.opaque)
	// In an opaque directory only what was moved there shows of the base.
	if sub.opaque = !shows; shows && (from != sub.origin || in.opaque) {
		sub.origin = from
		m.found[from] = path.Join(m.mount, sub.at)
	}
	return m.search(sub, depth+1)
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
	if !isRedirect(to) {
		return "", false
	}
	if rel, abs := strings.CutPrefix(to, "/"); abs {
		return rel, true
	}
	return originOf(parent, to), true
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
