package change

import (
	"encoding/binary"
	"hash/maphash"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Copied says whether the box's file is a copy of what reality had at this
// path: overlayfs notes on a copy that it is one. A file that the box moved or
// linked here carries the note too, and is no such copy.
//
// Where reality has nothing now, the two are told apart by time: had reality
// deleted it since, the directory would have changed after the copy was made.
// If that did change, by the file that the note names: reality still has it
// where the box put something else. An unprivileged overlay does not name it;
// then a file of the same size and time will do. What is still in doubt is
// said to be a copy: somebody should look.
func (e *entry) Copied() bool {
	if e.gone {
		return false
	}
	c, ok := e.beginning()
	if !ok || e.state == present {
		return ok
	}
	if e.olderGround(c) {
		return false
	}
	id, ok := noted(c.note)
	if !ok {
		id = e.up.stamp()
	}
	return !e.w.displaced(id)
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

// handle identifies a file of the base, by a hash of what the kernel calls it.
type handle uint64

var handleSeed = maphash.MakeSeed()

func handleOf(kind int32, id []byte) handle {
	var h maphash.Hash
	h.SetSeed(handleSeed)
	_ = h.WriteByte(byte(kind)) // overlayfs keeps no more of it
	_, _ = h.Write(id)
	return handle(h.Sum64())
}

// noted reads the note: a header of 21 bytes (version, magic, length, flags,
// type, the filesystem's UUID), then the file handle. It is empty where the
// base's filesystem has no handles.
func noted(note []byte) (handle, bool) {
	const header, magic = 21, 0xfb
	if len(note) <= header || note[1] != magic || int(note[2]) > len(note) || int(note[2]) <= header {
		return 0, false
	}
	return handleOf(int32(note[4]), note[header:note[2]]), true
}

// stamp stands for the handle of a file where there is none: copying up and
// moving keep the size and time of content.
func (f file) stamp() handle {
	id := binary.NativeEndian.AppendUint64(nil, uint64(f.Mtim.Nano()))
	return handleOf(-1, binary.NativeEndian.AppendUint64(id, uint64(f.Size)))
}

func baseHandle(dir int, name string) (handle, bool) {
	h, _, err := unix.NameToHandleAt(dir, name, 0)
	if err != nil {
		return 0, false
	}
	return handleOf(h.Type(), h.Bytes()), true
}

// displaced says whether the box has something else, or one more name, where
// the base has that file. The filesystem's changes are gone through once for
// it, and only when somebody asks about a file that was not made here.
func (w *walker) displaced(id handle) bool {
	m := w.moves
	if m.displaced == nil {
		scout := newWalker(w.ctx, w.src, func(forkbox.Change, forkbox.Sides) error { return nil })
		scout.src.Uppers = []Upper{m.of}
		scout.mounts, scout.hidden = w.mounts, w.hidden
		scout.found = map[handle]bool{}
		if err := scout.filesystem(m.of); err != nil {
			return false // the reader will come across it as well
		}
		m.displaced = scout.found
	}
	return m.displaced[id]
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
		if id, ok := baseHandle(l.dir, l.name); ok {
			w.found[id] = true
		}
		return nil
	})
}

func (w *walker) noteFile(e *entry, here bool) {
	id, ok := baseHandle(e.baseDir, e.baseName)
	if here && e.up.Nlink < 2 && e.isCopyOf(id) {
		return
	}
	w.found[e.base.stamp()] = true
	if ok {
		w.found[id] = true
	}
}

func (e *entry) isCopyOf(id handle) bool {
	c, copied := e.beginning()
	from, ok := noted(c.note)
	if !ok || !copied {
		return copied // of this one, as far as can be told
	}
	return from == id
}
