package change

import (
	"context"
	"path"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// Touched lists where a box can differ from what its uppers lie over: a place for
// [Between] to look at. Unlike what [Read] tells, that is
// not in comparison with the base: below the uppers there may be layers that the
// source says nothing of. Only the uppers are read.
func Touched(ctx context.Context, src Source) (*Paths, error) {
	t := &toucher{ctx: ctx, skip: src.Skip}
	for _, u := range src.Uppers {
		if err := t.stack(u, src.XattrPrefix); err != nil {
			return nil, forkbox.Wrap("read what the box touched", err)
		}
	}
	return &t.paths, nil
}

type toucher struct {
	ctx   context.Context
	skip  func(path string) bool
	marks *stack
	paths Paths
}

// stack reads all directories of one filesystem.
func (t *toucher) stack(u Upper, prefix string) (err error) {
	if t.marks, err = openStack(u.dirs(), prefix); err != nil {
		return err
	}
	defer t.marks.close()
	mount := path.Clean("/" + u.Mount)
	for _, top := range t.marks.tops {
		t.paths.Next()
		t.paths.Add(Path{Name: mount}) // its attributes
		if err := t.dir(top.dir, mount, 0); err != nil {
			return err
		}
	}
	return nil
}

// dir reads what is in a directory.
func (t *toucher) dir(fd int, at string, depth int) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	names, err := linux.Names(fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		place := join(at, name)
		if t.skip != nil && t.skip(place) {
			continue
		}
		if err := t.entry(fd, name, place, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry is one name. What is no directory, a whiteout or a file, may have taken
// the place of one.
func (t *toucher) entry(in int, name, place string, depth int) error {
	f, err := lstat(in, name)
	if err != nil || !f.isDir() || depth >= maxDepth {
		t.paths.Add(Path{place, true})
		return keepFatal(err)
	}
	fd, err := openDir(in, name, beneath)
	if err != nil { // not ours to read, or not there any more
		t.paths.Add(Path{place, true})
		return keepFatal(err)
	}
	defer unix.Close(fd)
	_, moved := t.marks.redirection(fd)
	whole := moved || t.marks.opacity(fd) == 'y'
	t.paths.Add(Path{place, whole})
	if whole {
		return nil
	}
	return t.dir(fd, place, depth+1)
}
