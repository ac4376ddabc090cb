package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/change"
)

// DiffSince is a Diff against the snapshot that a box was forked from. It costs
// what the box itself did, however much was done before the fork: the snapshot
// is not gone through.
func (e *Engine) DiffSince(ctx context.Context, who forkbox.Owner, ref, point string, spec forkbox.DiffSpec, yield func(forkbox.Change) error) (sum forkbox.Summary, err error) {
	const op = "read changes"
	ctx, end, err := e.begin(ctx, op)
	if err != nil {
		return sum, err
	}
	defer end()
	box, release, err := e.holdAt(ctx, op, who, ref)
	if err != nil {
		return sum, err
	}
	defer release()
	from, release, err := e.holdAt(ctx, op, who, point)
	if err != nil {
		return sum, err
	}
	defer release()
	view, err := e.view(ctx, box)
	if err == nil {
		err = e.against(who, box, from, view)
	}
	if err != nil {
		return sum, err
	}
	if own, stacked := over(box, from); stacked {
		if same, err := e.untouched(ctx, own); err != nil || same {
			return sum, err
		}
		whole := view.Changes
		view.Changes = func(ctx context.Context, yield func(forkbox.Change, forkbox.Sides) error) error {
			err := e.changesSince(ctx, who, box, from, own, yield)
			if errors.Is(err, errLarge) {
				return whole(ctx, yield) // nothing was yielded
			}
			return err
		}
	}
	spec.Against = point
	err = e.diff(ctx, view, spec, yield)
	return view.Summary, forkbox.Wrap(op, err)
}

// over is a box with only what lies over a snapshot, if it still does: layers
// may have been made into one since.
func over(box, from forkbox.Box) (own forkbox.Box, stacked bool) {
	own = box
	n := len(box.Layers) - len(from.Layers)
	if n < 0 || !box.Base.IsReality() || !slices.Equal(box.Layers[n:], from.Layers) || !box.Base.Fence.Equal(from.Base.Fence) {
		return own, false
	}
	own.Layers = box.Layers[:n]
	return own, true
}

// untouched says whether a box has nothing of its own.
func (e *Engine) untouched(ctx context.Context, own forkbox.Box) (bool, error) {
	if len(own.Layers) > 0 || own.Bare {
		return len(own.Layers) == 0, nil
	}
	p, err := e.layers("compare boxes")
	if err != nil {
		return false, err
	}
	return p.Blank(ctx, own)
}

func (e *Engine) changesSince(ctx context.Context, who forkbox.Owner, box, from, own forkbox.Box, yield func(forkbox.Change, forkbox.Sides) error) error {
	seeds := []string{box.Dir, box.Owner.Home}
	err := e.provider.Changes(ctx, own, func(c forkbox.Change, _ forkbox.Sides) error {
		seeds = append(seeds, c.Path)
		return nil
	})
	if err != nil {
		return err
	}
	return e.withRoots(ctx, who, []forkbox.Box{from, box}, func(roots map[string]*os.File) error {
		old, now := roots[viewKey(from)], roots[viewKey(box)]
		paths, err := touchedPaths(ctx, old, now, seeds)
		if err != nil {
			return err
		}
		return change.Between(ctx, change.Trees{Old: old, New: now, Paths: slices.Values(paths), Since: earlier(box, from)}, yield)
	})
}

// touched finds where two trees can differ of which one lies over the other. A
// directory in which anything is changed, however far below, is copied into the
// upper layer with all those above it, and has a new change time, which nobody
// can set. So one with the same has nothing to look for.
type touched struct {
	ctx      context.Context
	old, now *os.Root
	been     map[string]bool
	own      map[string]bool // what differs from reality in what lies above
	paths    []change.Path
}

// touchedPaths begins at the root, which is always another one, as is that of
// each filesystem in it. Those that are mounted where nothing else was changed
// are found by the seeds: paths below them that differ from reality.
func touchedPaths(ctx context.Context, old, now *os.File, seeds []string) ([]change.Path, error) {
	t := &touched{ctx: ctx, been: map[string]bool{}, own: map[string]bool{}}
	for _, name := range seeds[2:] {
		t.own[name] = true
	}
	var err error
	if t.old, err = rootOf(old); err != nil {
		return nil, err
	}
	defer t.old.Close()
	if t.now, err = rootOf(now); err != nil {
		return nil, err
	}
	defer t.now.Close()
	if err := t.dir("/"); err != nil {
		return nil, err
	}
	for _, seed := range seeds {
		if err := t.way(seed); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(t.paths, func(a, b change.Path) int { return forkbox.ComparePaths(a.Name, b.Name) })
	return merged(t.paths), nil
}

// rootOf keeps whatever is in a box from leading out of it.
func rootOf(f *os.File) (*os.Root, error) {
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
}

// way looks at a path, and at each directory that leads to it.
func (t *touched) way(name string) error {
	if name == "" || name == "/" || t.been[name] {
		return nil
	}
	if err := t.way(path.Dir(name)); err != nil {
		return err
	}
	return t.look(name)
}

// look finds out whether a path can differ.
func (t *touched) look(name string) error {
	was, errWas := t.old.Lstat(name[1:])
	is, errIs := t.now.Lstat(name[1:])
	if errWas != nil {
		was = nil
	}
	if errIs != nil {
		is = nil
	}
	return t.compare(name, was, is)
}

// compare notes a path that can differ. What is nil is not there.
func (t *touched) compare(name string, was, is fs.FileInfo) error {
	if t.been[name] || name == "/proc" || name == "/sys" || name == "/dev" {
		return nil
	}
	switch {
	case was == nil && is == nil || was != nil && is != nil && sameInode(was, is):
		return nil
	case was != nil && is != nil && was.IsDir() && is.IsDir():
		t.been[name] = true
		t.paths = append(t.paths, change.Path{Name: name})
		return t.dir(name)
	}
	if t.been[name] = true; t.reported(name) || was != nil && !isReality(name, was) {
		t.paths = append(t.paths, change.Path{Name: name, Deep: true})
	}
	return nil
}

// reported says whether the box differs from reality there. Where it does not,
// and the snapshot does not either, there is no change, but what each running
// box is given: its own host name, its own name server.
func (t *touched) reported(name string) bool {
	for ; name != "/"; name = path.Dir(name) {
		if t.own[name] {
			return true
		}
	}
	return false
}

func isReality(name string, was fs.FileInfo) bool {
	now, err := os.Lstat(name)
	return err == nil && sameInode(was, now)
}

// dir looks at all that a directory has in either tree.
func (t *touched) dir(name string) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	was, err := listed(t.old, name)
	if err != nil {
		return err
	}
	is, err := listed(t.now, name)
	if err != nil {
		return err
	}
	for base, info := range is {
		if err := t.compare(path.Join(name, base), was[base], info); err != nil {
			return err
		}
		delete(was, base)
	}
	for base, info := range was {
		if err := t.compare(path.Join(name, base), info, nil); err != nil {
			return err
		}
	}
	return nil
}

// mostListed is how many names of a directory are looked at one by one. Where
// there are more, to read all layers costs less.
const mostListed = 10_000

var errLarge = errors.New("a directory has too many names to be looked at one by one")

// listed is what a directory has, by name. What is gone by now, in a reality
// that goes on, is not there.
func listed(root *os.Root, name string) (map[string]fs.FileInfo, error) {
	f, err := root.Open(path.Join(".", name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	infos, err := f.Readdir(mostListed + 1)
	if len(infos) > mostListed {
		return nil, errLarge
	}
	if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	list := make(map[string]fs.FileInfo, len(infos))
	for _, info := range infos {
		list[info.Name()] = info
	}
	return list, err
}

// sameInode says whether two views show the same one. Its number does not tell:
// of a directory each overlay makes one up.
func sameInode(a, b fs.FileInfo) bool {
	at, has := changeTime(a)
	bt, both := changeTime(b)
	return has && both && at == bt && a.Mode() == b.Mode() && a.Size() == b.Size()
}
