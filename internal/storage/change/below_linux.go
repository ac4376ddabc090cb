package change

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// lower is something that the base has below a directory that the box deleted
// or replaced.
type lower struct {
	dir     int // it is name in here
	name    string
	path    string
	origin  string
	file    file
	depth   int
	skipped bool // another filesystem's, or left out
	hidden  bool // the box was not shown it
}

// descend visits all that the base has below e, in the order of [forkbox.ComparePaths], but
// for what was moved out of it: that lives on elsewhere in the box. It enters
// neither other mounts nor what was hidden.
func (w *walker) descend(e *entry, visit func(*lower) error) error {
	if err := w.moves.ready(); err != nil {
		return err
	}
	top := &lower{dir: e.baseDir, name: e.baseName, path: e.path, origin: e.origin()}
	return w.descendInto(top, visit)
}

func (w *walker) descendInto(l *lower, visit func(*lower) error) error {
	if err := w.ctx.Err(); err != nil || l.depth > maxDepth {
		return err
	}
	dir, err := openDir(l.dir, l.name, beneath|unix.RESOLVE_NO_XDEV)
	if err != nil {
		return keepFatal(err)
	}
	defer unix.Close(dir)
	if w.trees && !w.reader.lists(dir) {
		return nil // not even how much is in it
	}
	w.effort.listings++
	names, err := linux.Names(dir)
	if err != nil {
		return keepFatal(err)
	}
	for _, name := range names {
		sub := &lower{dir: dir, name: name, path: join(l.path, name), origin: originOf(l.origin, name), depth: l.depth + 1}
		if err := w.descendOne(sub, visit); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) descendOne(l *lower, visit func(*lower) error) (err error) {
	if _, moved := w.moves.found[l.origin]; moved {
		return nil
	}
	w.effort.lookups++
	if l.file, err = lstat(l.dir, l.name); err != nil {
		return keepFatal(err)
	}
	l.skipped = w.skipped(l.path, true)
	l.hidden = w.hidden[l.path] || w.hidden[w.fromPath(l.origin)]
	if err := visit(l); err != nil || l.skipped || l.hidden || !l.file.isDir() {
		return err
	}
	return w.descendInto(l, visit)
}

// Below lists what is lost with a directory, by the paths that the box had it
// at: in a renamed directory those are not where reality has it.
func (e *entry) Below(yield func(path string, node forkbox.Node, kept bool) error) error {
	if e.hidden || e.state != present || !e.base.isDir() {
		return e.notThere("look below")
	}
	return e.w.descend(e, func(l *lower) error {
		if l.skipped || l.hidden || isMountPoint(l.dir, l.name) {
			// Its type and no more: it may be a secret.
			return yield(l.path, forkbox.Node{Mode: l.file.mode().Type()}, true)
		}
		n, err := e.w.files.node(l.dir, l.name, l.file)
		if errors.Is(err, unix.ENOENT) {
			return nil // it vanished while we were looking
		}
		if err != nil {
			return &fs.PathError{Op: "look at", Path: l.path, Err: err}
		}
		return yield(l.path, n, false)
	})
}

// MovedOut lists the directories that the box moved out of one that it deleted
// or replaced.
func (e *entry) MovedOut() (moves []forkbox.Move, err error) {
	if e.state != present || !e.base.isDir() {
		return nil, nil
	}
	if err := e.w.moves.ready(); err != nil {
		return nil, err
	}
	for from, to := range e.w.moves.found {
		if from != e.origin() && forkbox.Within("/"+from, "/"+e.origin()) {
			moves = append(moves, forkbox.Move{From: e.w.fromPath(from), To: to})
		}
	}
	slices.SortFunc(moves, func(a, b forkbox.Move) int { return forkbox.ComparePaths(a.From, b.From) })
	return moves, nil
}

// countMovedOut is how many there are. The walk has found the moves by then.
func (e *entry) countMovedOut() int {
	moves, err := e.MovedOut()
	if err != nil {
		return 0 // the review, which plans with them, is told
	}
	return len(moves)
}

// isMountPoint: renaming or removing such a name fails, and what it shows is
// not of this filesystem.
func isMountPoint(dir int, name string) bool {
	var st unix.Statx_t
	err := unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, &st)
	return err == nil && st.Attributes&st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// filesBelow lists the regular files that are lost with a directory, each with
// the way to its content, for the user that the changes are told to.
func (e *entry) filesBelow(yield func(path string, node forkbox.Node, open func() (*os.File, error)) error) error {
	if e.hidden || e.state != present || !e.base.isDir() {
		return e.notThere("look below")
	}
	return e.w.descend(e, func(l *lower) error {
		if l.skipped || l.hidden || !l.file.isRegular() || isMountPoint(l.dir, l.name) {
			return nil
		}
		return yield(l.path, l.file.node(), func() (*os.File, error) {
			f, err := openForReading(l.dir, l.name, l.path)
			if err != nil {
				return nil, err
			}
			return e.w.shown(f, e.w.reader.reaches(l.dir))
		})
	})
}
