package change

import (
	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Copied says whether the box's file is a copy of what reality had at this
// path: overlayfs notes on a copy that it is one. A file that the box moved or
// linked here carries the note too, and is no such copy.
//
// Where reality has nothing now, the two are told apart. Nothing of reality was
// ever in a directory that shows nothing of it. Had reality deleted it since,
// its directory would have changed after the copy was made. If that did change,
// there may be a file of the same size and time where the box put something
// else: moving keeps both. What is still in doubt is said to be a copy: the
// reviewer should look.
func (e *entry) Copied() bool {
	if e.gone {
		return false
	}
	c, ok := e.beginning()
	if !ok || e.state == present {
		return ok
	}
	return !e.in.opaque && !e.olderGround(c) && !e.w.displaced(e.up.stamp()) && !e.wasDisplaced(c)
}

// wasDisplaced is displaced for a file that was moved in a layer and written to
// since: the layer has it as it was moved.
func (e *entry) wasDisplaced(c copied) bool {
	if c.dir == e.dir {
		return false
	}
	f, err := lstat(c.dir, c.name)
	return err == nil && e.w.displaced(f.stamp())
}

// olderGround says that the directory of the base has not changed since the
// box's file was made.
func (e *entry) olderGround(c copied) bool {
	var st unix.Statx_t
	err := unix.Statx(c.dir, c.name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 || e.in.ground == none {
		return false
	}
	dir, err := lstat(e.in.ground, ".")
	return err == nil && dir.Ctim.Nano() < st.Btime.Sec*1e9+int64(st.Btime.Nsec)
}

// stamp is by what a file is known that was moved, or copied to be changed.
type stamp struct{ mtime, size int64 }

func (f file) stamp() stamp { return stamp{f.Mtim.Nano(), f.Size} }

// displaced says whether the box has something else, or one more name, where
// the base has that file, or made it itself in a layer. The filesystem's changes
// are gone through once for it, and only when a caller asks about a file that
// was not made here.
func (w *walker) displaced(s stamp) bool {
	m := w.moves
	if m.displaced == nil {
		scout := newWalker(w.ctx, w.src, func(forkbox.Change, forkbox.Sides) error { return nil })
		scout.src.Uppers = []Upper{m.of}
		scout.mounts, scout.hidden = w.mounts, w.hidden
		scout.found = map[stamp]bool{}
		if err := scout.filesystem(m.of); err != nil {
			return false // the reader will come across it as well
		}
		m.displaced = scout.found
		for _, top := range m.stack.tops {
			m.noteLayer(top.dir, ".", 0)
		}
	}
	return m.displaced[s]
}

// scout notes an entry instead of telling it, and goes on below.
func (w *walker) scout(e *entry) error {
	if err := w.note(e); err != nil || e.err != nil || e.upErr != nil || !e.up.isDir() {
		return err
	}
	return w.dir(e)
}

// note remembers what e displaces.
func (w *walker) note(e *entry) error {
	if e.state != present || e.hidden {
		return nil
	}
	here := e.upErr == nil && !w.whiteout(e)
	if !e.base.isDir() {
		w.noteFile(e, here)
		return nil
	}
	if here && e.up.isDir() {
		return nil
	}
	return w.gone(e)
}

// noteBelow remembers the files of a directory that is lost.
func (w *walker) noteBelow(e *entry) error {
	return w.descend(e, func(l *lower) error {
		if l.hidden || l.skipped || l.file.isDir() {
			return nil
		}
		w.found[l.file.stamp()] = true
		return nil
	})
}

func (w *walker) noteFile(e *entry, here bool) {
	if _, copied := e.beginning(); here && copied && e.up.Nlink < 2 {
		return // of this one, as far as can be told
	}
	w.found[e.base.stamp()] = true
}
