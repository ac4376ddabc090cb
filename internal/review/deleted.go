package review

import (
	"context"
	"path"
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
// and deleting files in it sets as well.
func (v *View) wayMoved(dir string) bool {
	if moved, ok := v.ways[dir]; ok {
		return moved
	}
	d, there := lookDir(dir)
	moved := there && d.Ctime != d.mtime && v.since(dir, d.Identity)
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
	}
	in, there := lookDir(above)
	return !there || in.mtime >= v.Box.Base.Fence.UnixNano() || v.wayMoved(above)
}
