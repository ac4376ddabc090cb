package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// pileDir is where boxes write, whichever user owns them.
const pileDir = "/tmp/fbtest-pile"

// pile is what a box wrote: many files, made once. To make 100 000 of them
// anew takes longer than all the rounds together, so each round moves them
// below a new box as if that had written them, and away again when they have
// become a layer.
type pile struct {
	d     *daemon
	files int
	dir   string   // where it lies meanwhile
	work  []string // overlayfs's own directories, which a layer loses
}

// newPile has a box write the files.
func newPile(ctx context.Context, d *daemon, files int) (*pile, error) {
	p := &pile{d: d, files: files, dir: filepath.Join(d.home, fmt.Sprintf("pile-%d", files))}
	id, err := d.create(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := d.inside(ctx, id, "fill", pileDir, fmt.Sprint(files), "x\n"); err != nil {
		return nil, err
	}
	if _, err := d.Stop(ctx, id, new(time.Duration)); err != nil {
		return nil, err
	}
	p.work = directories(p.top(id), "work")
	if err := os.Rename(p.top(id), p.dir); err != nil {
		return nil, err
	}
	if err := d.Remove(ctx, id, true); err != nil {
		return nil, err
	}
	return p, (&trial{pile: p, ctx: ctx}).check()
}

// directories lists those below a directory of top, as far as they can be seen.
func directories(top, name string) (found []string) {
	_ = filepath.WalkDir(filepath.Join(top, name), func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() && err == nil {
			below, _ := filepath.Rel(top, path)
			found = append(found, below)
		}
		return nil
	})
	return found
}

func (p *pile) top(box string) string { return filepath.Join(p.d.home, "boxes", box, "top") }

// lend has a box that was never started be one that wrote the files.
func (p *pile) lend(box string) error {
	if _, err := os.Lstat(filepath.Join(p.dir, "work")); err == nil {
		return os.Rename(p.dir, p.top(box)) // they were left
	}
	for _, dir := range p.work {
		if err := os.MkdirAll(filepath.Join(p.dir, dir), 0o700); err != nil {
			return err
		}
	}
	return os.Rename(p.dir, p.top(box))
}

// reclaim takes the files out of what was made of them.
func (p *pile) reclaim(layers []string) error {
	if len(layers) == 0 {
		return fmt.Errorf("no layer was made of what the box wrote")
	}
	layer := filepath.Join(p.d.home, "layers", layers[0])
	if err := os.Rename(layer, p.dir); err != nil {
		return err
	}
	_, err := os.Lstat(filepath.Join(p.dir, "upper"))
	return err
}
