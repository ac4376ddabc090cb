//go:build linux

package native

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/change"
)

// Touched is the first of the paths at which a box has something of its own, ""
// if there is none. It is one look-up for each, so it errs: what the box put
// back as it was, and what lies in a directory that it moved, count as touched
// or not without a closer look.
func (p *Provider) Touched(ctx context.Context, box forkbox.Box, paths []string) string {
	uppers, err := p.uppers(box)
	if err != nil || len(uppers) == 0 {
		return ""
	}
	for _, path := range paths {
		if ctx.Err() != nil {
			return ""
		}
		on := innermost(uppers, path)
		if on == nil {
			continue
		}
		for _, dir := range append([]string{on.Dir}, on.Layers...) {
			st, err := os.Lstat(filepath.Join(dir, strings.TrimPrefix(path, on.Mount)))
			if err == nil && dir != "" && !st.IsDir() { // a directory is there as soon as something in it is
				return path
			}
		}
	}
	return ""
}

// Written is where a box can differ from what it lies over, which need not be
// reality: the box may be given with some of its layers only.
func (p *Provider) Written(ctx context.Context, box forkbox.Box) ([]change.Path, error) {
	src, done, err := p.source(box)
	if err != nil {
		return nil, err
	}
	defer done()
	return change.Touched(ctx, src)
}

// innermost is the filesystem that a path lies on.
func innermost(uppers []change.Upper, path string) (on *change.Upper) {
	for i, u := range uppers {
		if below(path, u.Mount) && (on == nil || len(u.Mount) > len(on.Mount)) {
			on = &uppers[i]
		}
	}
	return on
}
