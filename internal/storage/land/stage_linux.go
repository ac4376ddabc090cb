package land

import (
	"os"
	"path"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// frame is a directory that is put or moved, while items below it come.
type frame struct {
	path  string
	put   *record // staged: what comes below it is put into it
	item  *Item
	moved bool // what comes below it is flipped after it
}

func (l *Landing) stage(r *record, it *Item, src *source) error {
	if err := l.leave(it.Path); err != nil {
		return err
	}
	if m := l.moveAround(it.Path); m != nil {
		r.Via, r.Carried = m.N, m.Entrywise
	}
	switch it.Op {
	case Put:
		return l.stagePut(r, it, src)
	case Remove:
		return l.stageRemove(r, it)
	case Attr:
		return l.stageAttr(r, it, src)
	case Move:
		return l.stageMove(r, it)
	}
	return forkbox.Errorf(forkbox.Invalid, opLand, "%q is not known as an operation", it.Op)
}

// leave finishes the directories that p is not in. Their mode and times come
// last: what was put into them would be refused, or change them.
func (l *Landing) leave(p string) error {
	for n := len(l.frames) - 1; n >= 0 && !forkbox.Within(p, l.frames[n].path); n-- {
		f := l.frames[n]
		l.frames = l.frames[:n]
		if f.put == nil {
			continue
		}
		if err := l.finish(f.put, f.item); err != nil {
			return err
		}
	}
	return nil
}

// around is the staged directory that a path is put into, or nil.
func (l *Landing) around() *record {
	if n := len(l.frames); n > 0 && !l.frames[n-1].moved {
		return l.frames[n-1].put
	}
	return nil
}

func (l *Landing) stagePut(r *record, it *Item, src *source) error {
	if files.KernelMode(it.Node.Mode) == 0 || it.Path == "/" {
		return forkbox.Errorf(forkbox.Invalid, opLand, "%q cannot be put: mode %s", it.Path, it.Node.Mode)
	}
	if err := l.slotFor(r, it); err != nil {
		return err
	}
	if err := l.make(r, it, src); err != nil {
		return failed(opLand, it.Path, err)
	}
	if it.Node.Nlink > 1 && !r.New.IsDir() && r.Link == "" {
		l.spots[it.Path] = spot{r.Place, r.Slot, r.Sum}
	}
	if r.New.IsDir() {
		l.frames = append(l.frames, frame{path: it.Path, put: r, item: it})
	}
	return nil
}

// slotFor decides where something new is staged: in the directory that it is
// put into if that is new as well, else in a slot of its own.
func (l *Landing) slotFor(r *record, it *Item) (err error) {
	if dir := l.around(); dir != nil {
		if it.Expect != nil {
			return conflict(opLand, it.Path, "something is there, in a directory that was not there a moment ago")
		}
		if dir.Path != path.Dir(it.Path) {
			return forkbox.Errorf(forkbox.Invalid, opLand, "%q lies in a new directory, where only what was put is", it.Path)
		}
		r.Inside, r.Place, r.Slot = true, dir.Place, dir.Slot+"/"+path.Base(it.Path)
		return nil
	}
	at := l.located(it.Path)
	if r.Old, err = l.expect(at, it, true); err != nil {
		return err
	}
	return l.ownSlot(r, at)
}

func (l *Landing) ownSlot(r *record, at string) error {
	p, err := l.yard.placeFor(at)
	if err != nil {
		return err
	}
	r.Place, r.Slot, r.At = p.K, strconv.Itoa(r.N), at
	// overlayfs renames a directory of a lower layer only with a feature that
	// is off in most mounts, and cannot tell beforehand.
	r.Entrywise = p.Overlay && r.Old.IsDir()
	return nil
}

// located is where a path of the tree to come is in the tree as it is: moved
// directories are still where they were.
func (l *Landing) located(p string) string {
	if m := l.moveAround(p); m != nil {
		return rebase(p, m.Path, m.From)
	}
	return p
}

// moveAround is the move that brings the directory that p is in, or nil.
func (l *Landing) moveAround(p string) (best *record) {
	for _, m := range l.moves {
		if forkbox.Within(p, m.Path) && (best == nil || len(m.Path) > len(best.Path)) {
			best = m
		}
	}
	return best
}

func (l *Landing) stageRemove(r *record, it *Item) (err error) {
	if l.around() != nil || it.Expect == nil || it.Path == "/" {
		return forkbox.Errorf(forkbox.Invalid, opLand, "%q cannot be removed: nothing is known to be there", it.Path)
	}
	at := l.located(it.Path)
	if r.Old, err = l.expect(at, it, true); err != nil {
		return err
	}
	return l.ownSlot(r, at)
}

func (l *Landing) stageMove(r *record, it *Item) (err error) {
	// It may go below its own place: something new, or another one, is there by
	// then. Otherwise the flip fails.
	if it.Expect == nil || it.From == "/" || it.Path == "/" {
		return forkbox.Errorf(forkbox.Invalid, opLand, "%q cannot be moved to %q", it.From, it.Path)
	}
	if r.Old, err = l.expect(it.From, it, false); err != nil {
		return err
	}
	if err := l.ownSlot(r, it.From); err != nil {
		return err
	}
	l.moves = append(l.moves, r)
	l.frames = append(l.frames, frame{path: it.Path, moved: true})
	return nil
}

// expect looks at a path and refuses when that is not what the caller saw.
func (l *Landing) expect(at string, it *Item, whole bool) (*files.Object, error) {
	now, err := l.tree.Look(at)
	if err != nil {
		return nil, failed(opLand, it.Path, err)
	}
	var want *files.Object
	if it.Expect != nil {
		want = &files.Object{Identity: *it.Expect}
	}
	if want == nil && it.Op == Put && now.IsDir() {
		// A move that comes later may take it away: see vacate.
		l.inTheWay = append(l.inTheWay, at)
		return nil, nil
	}
	if why := l.hand.differs(now, want, whole); why != "" {
		return nil, conflict(opLand, it.Path, why)
	}
	return now, nil
}

// vacate checks that what is where something new goes is moved away.
func (l *Landing) vacate() error {
	for _, p := range l.inTheWay {
		moves := func(r *record) bool { return r.From == p }
		if !slices.ContainsFunc(l.moves, moves) {
			return conflict(opLand, p, "something is there by now")
		}
	}
	return nil
}

// stageAttr plans a change of attributes. It is done in place, except to a
// file that has other names: only this one is meant, so it gets a copy.
func (l *Landing) stageAttr(r *record, it *Item, src *source) (err error) {
	if l.around() != nil || it.Expect == nil {
		return forkbox.Errorf(forkbox.Invalid, opLand, "%q has no attributes to change: nothing is known to be there", it.Path)
	}
	at := l.located(it.Path)
	if r.Old, err = l.expect(at, it, false); err != nil {
		return err
	}
	if files.KernelMode(it.Node.Mode)&unix.S_IFMT != r.Old.Format() {
		return forkbox.Errorf(forkbox.Invalid, opLand, "%q is of another type: put it", it.Path)
	}
	if !r.Old.IsDir() && r.Old.Nlink > 1 {
		return l.stageCopy(r, it, src, at)
	}
	h, err := l.hand.openAt(at)
	if err != nil {
		return failed(opLand, it.Path, err)
	}
	defer unix.Close(h.Fd)
	r.At, r.Old.Xattrs = at, h.Xattrs()
	r.New = &files.Object{Mode: files.KernelMode(it.Node.Mode), UID: uint32(it.Node.UID), GID: uint32(it.Node.GID), Xattrs: files.Packed(it.Node.Xattrs)}
	if it.KeepOwner {
		r.New.UID, r.New.GID = r.Old.UID, r.Old.GID
	}
	return nil
}

// stageCopy puts a copy of a file in its place, with other attributes.
func (l *Landing) stageCopy(r *record, it *Item, src *source, at string) error {
	r.Op, r.Asked = Put, Attr
	if it.Node.ModTime.IsZero() {
		it.Node.ModTime = time.Unix(0, r.Old.Mtime)
	}
	dir, name, err := l.tree.Parent(at)
	if err == nil && r.Old.IsRegular() {
		var fd int
		if fd, err = files.Open(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY); err == nil {
			src.file = os.NewFile(uintptr(fd), name)
		}
	}
	if err == nil && r.Old.IsSymlink() {
		it.Node.Target, err = files.Readlink(dir, name)
	}
	if err == nil {
		it.Node.Rdev = r.Old.Rdev
		err = l.ownSlot(r, at)
	}
	if err == nil {
		err = l.make(r, it, src)
	}
	if err != nil {
		return failed(opLand, it.Path, err)
	}
	l.spots[it.Path] = spot{r.Place, r.Slot, r.Sum}
	return nil
}

// dress gives something that was staged the attributes of its item. The order
// matters: chown clears setuid and capabilities, chmod rewrites an ACL.
func dress(h files.Handle, r *record, it *Item) error {
	now, err := files.Fstat(h.Fd)
	if err != nil {
		return err
	}
	want := files.KernelMode(it.Node.Mode)
	if it.KeepOwner {
		if r.Old != nil {
			_, err = h.Chown(now, r.Old.UID, r.Old.GID)
		}
	} else {
		var got *files.Object
		if got, err = h.Chown(now, uint32(it.Node.UID), uint32(it.Node.GID)); err == nil {
			want = files.WithoutLentRights(want, got, uint32(it.Node.UID), uint32(it.Node.GID))
		}
	}
	if err == nil && !now.IsSymlink() {
		err = h.Chmod(want)
	}
	if err == nil {
		err = h.SetXattrs(it.Path, it.Node.Xattrs)
	}
	if err == nil && !it.Node.ModTime.IsZero() {
		err = h.SetModTime(it.Node.ModTime)
	}
	return err
}
