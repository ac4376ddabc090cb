package land

import (
	"errors"
	"math"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// hand makes the changes to the tree, one rename or change of attributes at a
// time, and knows what is therefore its own doing.
type hand struct {
	tree    *files.Tree
	yard    *yard
	plan    *plan
	touched map[files.Inode]bool // files whose ctime this landing itself changes
	reached *reach               // nil: not known, an earlier process did it
	extra   map[uint64]int       // open directories of filesystems that have no place
}

// begin: from here on it is known what was reached.
func (h *hand) begin() { h.reached = &reach{dirs: math.MaxInt} }

// mayHaveReached says whether the attributes of a record may have been changed.
func (h *hand) mayHaveReached(r *record) bool { return h.reached.has(r) }

// willTouch notes a file that is about to have another ctime.
func (h *hand) willTouch(o *files.Object) { h.touched[o.Inode()] = true }

// hasTouched says whether the ctime of a file may be the landing's own doing.
func (h *hand) hasTouched(o *files.Object) bool { return h.touched[o.Inode()] }

// landing is the visitor that lands. Any error stops it.
func (h *hand) landing() visitor {
	return visitor{
		move: h.takeOut,
		item: func(r *record, _ *left) error {
			switch {
			case r.flips():
				return h.flip(r)
			case r.Op == Move:
				return h.bringIn(r)
			case r.Op == Attr && !r.Old.IsDir():
				return h.changeAttrs(r)
			}
			return nil
		},
		attr: func(r *record, _ *left) error { return h.changeAttrs(r) },
	}
}

// flip lands one record: what was staged goes to its path, what was there to
// the slot. Right before, what is there has to be what the caller saw; whether
// it still was at the very moment shows in the slot, when all have landed.
func (h *hand) flip(r *record) error {
	old := r.Old
	if r.Entrywise {
		if err := h.evacuate(r, r.Path, h.planned(r)); err != nil {
			return failed(opLand, r.Path, err)
		}
		old = nil
	}
	dir, name, err := h.tree.Parent(r.Path)
	if err != nil {
		return failed(opLand, r.Path, err)
	}
	now, err := files.Lstat(dir, name)
	if err != nil {
		return failed(opLand, r.Path, err)
	}
	if why := h.changed(r, now, old, true); why != "" {
		return conflict(opLand, r.Path, why)
	}
	if err := h.swap(dir, name, now, r, r.New); err != nil {
		return failed(opLand, r.Path, err)
	}
	h.touch(old)
	return nil
}

// changed is differs for a record that is about to land.
func (h *hand) changed(r *record, now, want *files.Object, whole bool) string {
	if !r.Carried || now == nil || want == nil {
		return h.differs(now, want, whole)
	}
	if now.Format() != want.Format() || !now.IsDir() && !now.SameContent(want) {
		return "it changed meanwhile"
	}
	return ""
}

// differs says why something is not what was seen before, or nothing. whole
// has it look at a directory's time as well: names came or went in it.
func (h *hand) differs(now, want *files.Object, whole bool) string {
	switch {
	case want == nil && now == nil:
		return ""
	case want == nil:
		return "something is there by now"
	case now == nil:
		return "it is gone"
	case now.Ino != want.Ino:
		return "it was replaced meanwhile"
	case now.IsDir() && !whole:
		return ""
	case now.Ctime != want.Ctime && !h.hasTouched(now):
		return "it changed meanwhile"
	case !now.IsDir() && now.Size != want.Size:
		return "it changed meanwhile"
	}
	return ""
}

// touch notes that the other names of a file see a new ctime.
func (h *hand) touch(o *files.Object) {
	if o != nil && o.Nlink > 1 {
		h.willTouch(o)
	}
}

// swap exchanges what is at a path with what is in the record's slot; either
// may be nothing.
func (h *hand) swap(dir int, name string, here *files.Object, r *record, there *files.Object) error {
	slotDir, slot, err := h.yard.of(r).slot(r.Slot)
	if err != nil {
		return err
	}
	defer h.forgetMoved(here, there)
	a, b := end{dir, name, here}, end{slotDir, slot, there}
	switch {
	case here != nil && there != nil:
		return carry(b, a, unix.RENAME_EXCHANGE)
	case there != nil:
		return carry(b, a, unix.RENAME_NOREPLACE)
	case here != nil:
		return carry(a, b, unix.RENAME_NOREPLACE)
	}
	return nil
}

func (h *hand) forgetMoved(objects ...*files.Object) {
	for _, o := range objects {
		if o.IsDir() {
			h.tree.Forget()
			h.yard.forgetSlots()
		}
	}
}

// end is one end of a rename.
type end struct {
	dir  int
	name string
	obj  *files.Object // what is there; nil is nothing
}

// carry renames. To move a directory one must be able to write in it, for it
// knows the directory that it is in; one that is read-only even to its owner
// is made writable for the moment.
func carry(from, to end, flags uint) error {
	err := files.Rename(from.dir, from.name, to.dir, to.name, flags)
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	var loosened []func() error
	for _, e := range []end{from, to} {
		if tighten := e.loosen(); tighten != nil {
			loosened = append(loosened, tighten)
		}
	}
	if loosened == nil {
		return err
	}
	err = files.Rename(from.dir, from.name, to.dir, to.name, flags)
	for _, tighten := range loosened {
		err = errors.Join(err, tighten())
	}
	return err
}

// loosen makes a read-only directory writable; what it returns undoes that.
func (e end) loosen() func() error {
	if !e.obj.IsDir() {
		return nil
	}
	fd, err := files.Open(e.dir, e.name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	h := files.Handle{Fd: fd}
	now, err := files.Fstat(fd)
	if err != nil || now.Perm()&0o200 != 0 || h.Chmod(now.Mode|0o200) != nil {
		unix.Close(fd)
		return nil
	}
	return func() error {
		defer unix.Close(fd)
		return h.Chmod(now.Mode)
	}
}

// takeOut is the first half of a move: from where it was to the slot.
func (h *hand) takeOut(r *record) error {
	if r.Entrywise {
		err := h.evacuate(r, r.From, h.planned(r))
		if err == nil {
			err = h.setOut(r, true)
		}
		return failed(opLand, r.From, err)
	}
	dir, name, err := h.tree.Parent(r.From)
	if err != nil {
		return failed(opLand, r.From, err)
	}
	now, err := files.Lstat(dir, name)
	if err != nil {
		return failed(opLand, r.From, err)
	}
	if why := h.differs(now, r.Old, !r.Old.IsDir()); why != "" {
		return conflict(opLand, r.From, why)
	}
	if in, err := files.Fstat(dir); err == nil {
		h.willTouch(in) // it has a new time now; that is no edit
	}
	if err := h.swap(dir, name, now, r, nil); err != nil {
		return failed(opLand, r.From, err)
	}
	h.touch(r.Old)
	return nil
}

// bringIn is the second half: from the slot to where it goes.
func (h *hand) bringIn(r *record) error {
	dir, name, err := h.tree.Parent(r.Path)
	if err != nil {
		return failed(opLand, r.Path, err)
	}
	if now, err := files.Lstat(dir, name); err != nil || now != nil {
		return failed(opLand, r.Path, errors.Join(err, unix.EEXIST))
	}
	if r.Entrywise {
		return failed(opLand, r.Path, h.populate(r, r.Path))
	}
	return failed(opLand, r.Path, h.swap(dir, name, nil, r, r.Old))
}

// changeAttrs does an attr in place.
func (h *hand) changeAttrs(r *record) error {
	at, err := h.openAt(r.Path)
	if err != nil {
		return failed(opLand, r.Path, err)
	}
	defer unix.Close(at.Fd)
	now, err := files.Fstat(at.Fd)
	if err != nil {
		return failed(opLand, r.Path, err)
	}
	if why := h.changed(r, now, r.Old, false); why != "" {
		return conflict(opLand, r.Path, why)
	}
	if !files.SameAttrs(now, r.Old) || !files.SameXattrs(at.Xattrs(), r.Old.Xattrs) {
		return conflict(opLand, r.Path, "its attributes changed meanwhile")
	}
	h.reached.note(r)
	h.alsoSync(r.Path, now)
	return failed(opLand, r.Path, at.Become(r.Path, r.New))
}

// openAt opens an object of the tree, whatever it is, to look at it or to
// change its attributes.
func (h *hand) openAt(p string) (files.Handle, error) {
	dir, name, err := h.tree.Parent(p)
	if err != nil {
		return files.Handle{}, err
	}
	fd, err := files.Open(dir, name, unix.O_PATH)
	return files.Handle{Fd: fd}, err
}

// alsoSync remembers the filesystem of something that is changed in place,
// for no staging directory may be on it.
func (h *hand) alsoSync(p string, o *files.Object) {
	if _, known := h.extra[o.Dev]; known {
		return
	}
	dir := p
	if !o.IsDir() {
		dir = path.Dir(p)
	}
	fd, err := h.tree.Resolve(strings.TrimPrefix(dir, "/"), unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		fd = -1 // may not be read: everything is synced instead
	}
	h.extra[o.Dev] = fd
}

// syncAll makes what was done durable on every filesystem that was touched.
func (h *hand) syncAll() error {
	synced := map[uint64]bool{}
	if err := h.yard.sync(synced); err != nil {
		return err
	}
	for dev, fd := range h.extra {
		if synced[dev] {
			continue
		}
		if fd < 0 {
			unix.Sync()
			continue
		}
		if err := files.SyncFilesystem(fd); err != nil {
			return forkbox.Errorf(forkbox.Internal, opLand, "make the changes durable: %w", err)
		}
	}
	return nil
}

func (h *hand) close() {
	for _, fd := range h.extra {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	clear(h.extra)
}

// reach is how far a landing came with what is changed in place. Of a rename
// the inodes tell that; attributes that another process has changed do not.
type reach struct {
	files int // the highest number of a file
	dirs  int // the lowest of a directory: they come last one first
}

func (c *reach) note(r *record) {
	switch {
	case c == nil:
	case r.Old.IsDir():
		c.dirs = min(c.dirs, r.N)
	default:
		c.files = max(c.files, r.N)
	}
}

// has says whether a record may have been changed.
func (c *reach) has(r *record) bool {
	switch {
	case c == nil:
		return true
	case r.Old.IsDir():
		return r.N >= c.dirs
	}
	return r.N <= c.files
}
