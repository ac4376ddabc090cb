package review

import (
	"context"
	"path"

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
	if e.Kind != forkbox.Added || e.Hidden || v.Still || v.Marks[e.Path].Nothing {
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

// dirMoved says whether something was added to or taken from a directory after
// the fence. One that is gone was taken from the one above.
func (v *View) dirMoved(dir string) bool {
	if dir == v.lastDir {
		return v.lastMoved
	}
	id, _, there := lookDir(dir)
	moved := id.Ctime >= v.Box.Base.Fence.UnixNano()
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
	id, mtime, there := lookDir(dir)
	moved := there && id.Ctime != mtime && v.since(dir, id)
	if !moved && dir != "/" {
		moved = v.wayMoved(path.Dir(dir))
	}
	if v.ways == nil || len(v.ways) >= maxWays {
		v.ways = map[string]bool{}
	}
	v.ways[dir] = moved
	return moved
}
