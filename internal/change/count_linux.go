package change

import (
	"golang.org/x/sys/unix"
)

// toll is what a deletion took with it.
type toll struct {
	entries int
	bytes   int64
}

// count measures what the base has at e and below: the cost of it is bounded
// by what was deleted. It does not enter other mounts, which the box did not
// delete, nor tell of what the box was not shown.
func (w *walker) count(e *entry) (toll, error) {
	t := toll{bytes: e.base.bytes()}
	if !e.base.isDir() {
		return t, nil
	}
	return t, w.countBelow(&t, e.in.base, e.name, e.path, originOf(e.in.origin, e.name), 0)
}

func (w *walker) countBelow(t *toll, parent int, name, path, origin string, depth int) error {
	if err := w.ctx.Err(); err != nil || depth > maxDepth {
		return err
	}
	dir, err := openDir(parent, name, beneath|unix.RESOLVE_NO_XDEV)
	if err != nil {
		return keepFatal(err)
	}
	defer unix.Close(dir)
	w.effort.listings++
	names, err := list(dir)
	if err != nil {
		return keepFatal(err)
	}
	for _, name := range names {
		if err := w.countOne(t, dir, name, join(path, name), originOf(origin, name), depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) countOne(t *toll, dir int, name, path, origin string, depth int) error {
	if w.skipped(path, true) || w.moves.found[origin] {
		return nil
	}
	w.effort.lookups++
	f, err := lstat(dir, name)
	if err != nil {
		return keepFatal(err)
	}
	t.entries++
	if w.hidden[path] || w.hidden[w.fromPath(origin)] {
		return nil
	}
	t.bytes += f.bytes()
	if f.isDir() {
		return w.countBelow(t, dir, name, path, origin, depth+1)
	}
	return nil
}
