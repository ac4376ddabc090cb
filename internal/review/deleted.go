package review

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
)

// had is for ancestors that can say of many paths whether they were there.
type had interface {
	Had(ctx context.Context, path string) (bool, error)
}

// deletedSince says whether reality had at the fence what it has not now. A
// file that the box copied when it changed it says so itself; of one that the
// box wrote anew it may be known from git.
func (v *View) deletedSince(ctx context.Context, e *Entry) (bool, error) {
	if e.Kind != forkbox.Added || e.Hidden || v.Still {
		return false, nil
	}
	if m, _ := v.Marks.Get(e.Path); m.Nothing || v.landedElsewhere(e, m) {
		return false, nil
	}
	if e.Sides.Copied() {
		return true, nil
	}
	known, ok := v.Ancestors.(had)
	if !ok || e.Type != "file" || !v.dirMoved(path.Dir(e.Path)) {
		return false, nil
	}
	return known.Had(ctx, e.Path)
}

// landedElsewhere says whether the box's file is one that landed under another
// name: then the box has moved it here since.
func (v *View) landedElsewhere(e *Entry, here Mark) bool {
	if v.Marks.Len() == 0 {
		return false
	}
	id, err := newIdentity(e.Sides)
	if err != nil || here.Box.Ino == id.Ino {
		return false
	}
	for range v.Marks.ofInode(id.Ino) {
		return true
	}
	return false
}

// dirMoved says whether something was added to or taken from a directory after
// the fence. One that is gone was taken from the one above.
func (v *View) dirMoved(dir string) bool {
	if dir == v.lastDir {
		return v.lastMoved
	}
	d, there := lookDir(dir)
	moved := d.Ctime >= v.Box.Base.Fence.UnixNano()
	if !there && dir != "/" {
		moved = v.dirMoved(path.Dir(dir))
	}
	v.lastDir, v.lastMoved = dir, moved
	return moved
}

// maxWays bounds what wayMoved remembers.
const maxWays = 10000

// wayMoved says whether a directory, or one that it lies in, may have been put
// in the place of another after the fence: the files in it keep their times.
// A move sets the inode's time of a directory and not the other, which adding
// and deleting files in it sets as well. So does a change of its mode: there it
// helps to know which directory it was.
func (v *View) wayMoved(dir string) bool {
	if moved, ok := v.ways[dir]; ok {
		return moved
	}
	d, there := lookDir(dir)
	moved := there && d.Ctime != d.mtime && v.since(dir, d.Identity) && !v.isSame(dir, d)
	if !moved && dir != "/" {
		moved = v.wayMoved(path.Dir(dir))
	}
	if v.ways == nil || len(v.ways) >= maxWays {
		v.ways = map[string]bool{}
	}
	v.ways[dir] = moved
	return moved
}

// directory is one as reality has it now.
type directory struct {
	forkbox.Identity
	mtime int64 // when its entries last changed
	born  int64 // 0 where the filesystem does not say
}

// LookDir is the identity of a directory of reality.
func LookDir(name string) (id forkbox.Identity, there bool) {
	d, there := lookDir(name)
	return d.Identity, there
}

// DirDrifted says whether reality did something to a directory, or in it, after
// the fence and before a time.
func (v *View) DirDrifted(dir string, before time.Time) bool {
	d, there := lookDir(dir)
	return there && d.Ctime < before.UnixNano() && v.since(dir, d.Identity)
}

// replaced says whether reality may have another directory at a path than it
// had at the fence, or has none. Whatever is done to a directory sets its
// inode's time. Where that is later than the fence, it was something in it that
// changed, unless the directory was made since, or the one that it lies in got
// other entries: then it may have been moved there.
func (v *View) replaced(dir string) bool {
	d, there := lookDir(dir)
	above := path.Dir(dir)
	switch {
	case !there:
		return true
	case !v.since(dir, d.Identity):
		return v.wayMoved(above)
	case d.born >= v.Box.Base.Fence.UnixNano():
		return true
	case v.Left.hasInode(d.Ino):
		return false // it is old, and where an apply of this box saw it
	case v.isSame(dir, d):
		return v.wayMoved(above)
	}
	in, there := lookDir(above)
	return !there || in.mtime >= v.Box.Base.Fence.UnixNano() || v.wayMoved(above)
}

// isSame says whether it is known that a directory is the one that was at its
// path at the fence: it has the same number, and that was given to no other
// since, as it is older than the fence.
func (v *View) isSame(dir string, d directory) bool {
	known, ok := v.Ancestors.(interface {
		Directory(path string) (number uint64, known bool)
	})
	if !ok || d.born == 0 || d.born >= v.Box.Base.Fence.UnixNano() || v.Root == "" {
		return false
	}
	number, ok := known.Directory(dir)
	if !ok || number != d.Ino {
		return false
	}
	root, there := lookDir(v.Root)
	return there && root.Dev == d.Dev // numbers are of one filesystem
}

// onlyRewritten says whether reality's file has other bytes than at the fence,
// or than what landed there since, and says the same: nothing was changed.
// git's index is such a file, which editors and prompts have written anew.
func (v *View) onlyRewritten(ctx context.Context, e *Entry) bool {
	if v.Rewritten == nil || e.Kind != forkbox.Modified || e.Type != "file" || e.differs("mode", "owner", "xattr") {
		return false
	}
	same := v.Rewritten(e.Path)
	if same == nil {
		return false
	}
	base, _, err := v.base(ctx, e)
	if err != nil || !base.there || !base.mode.IsRegular() {
		return false
	}
	now, err := readSide(e.Sides.Old, e.Sides.OpenOld)
	return err == nil && now.isText() && now.mode == base.mode && same(base.content, now.content)
}

// onlyRewrote is the same for the box's file: the box did nothing of its own.
func (v *View) onlyRewrote(e *Entry, t trio) bool {
	if v.Rewritten == nil || e.Kind != forkbox.Modified || !t.base.there || !t.inBox.isText() || e.differs("mode", "owner", "xattr") {
		return false
	}
	same := v.Rewritten(e.Path)
	return same != nil && same(t.base.content, t.inBox.content)
}

// closed knows, while what is below a directory is listed in path order, which
// directories the box's owner may not look into. To move one takes no right to it.
type closed struct {
	view *View
	dir  string // the one that the listing is in, or was in last
}

func (v *View) newClosed(e *Entry) *closed {
	c := &closed{view: v}
	if old, err := e.Sides.Old(); err == nil {
		c.has(e.Path, old)
	}
	return c
}

// has says whether something lies in such a directory.
func (c *closed) has(p string, n forkbox.Node) bool {
	if c.dir != "" && p != c.dir && forkbox.Within(p, c.dir) {
		return true
	}
	if n.Mode.IsDir() && !c.view.mayLook(n.Mode, n.UID, n.GID, 0o5) {
		c.dir = p
	}
	return false
}

// Unresolved says whether an earlier sync left a path undecided. That is asked
// for every change, and there may be as many such paths.
func (v *View) Unresolved(path string) bool {
	if v.open == nil && len(v.Box.Unresolved) > 0 {
		v.open = slices.Sorted(slices.Values(v.Box.Unresolved))
	}
	_, found := slices.BinarySearch(v.open, path)
	return found
}

// Undecided says whether a sync left a change undecided, and the owner has not
// decided since.
func (v *View) Undecided(ctx context.Context, e *Entry) (bool, error) {
	if !v.Unresolved(e.Path) {
		return false, nil
	}
	u, err := v.stillOpen(ctx, e)
	return u != nil, skipVanished(err)
}
