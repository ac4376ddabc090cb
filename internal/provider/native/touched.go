//go:build linux

package native

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/provider/native/hostmounts"
	"github.com/forkbox/forkbox/internal/storage/change"
)

// Touches says of paths whether a box has something of its own there. It is one
// look-up for each, so it errs: what the box put back as it was, and what lies in
// a directory that it moved, count as touched or not without a closer look.
func (p *Provider) Touches(box forkbox.Box) func(path string) bool {
	uppers, err := p.stacks.uppers(box)
	return func(path string) bool {
		on := innermost(uppers, path)
		return err == nil && on != nil && inUpper(*on, path)
	}
}

// inUpper says whether a box has something at a path. A directory is there as
// soon as something in it is.
func inUpper(on change.Upper, path string) bool {
	for _, dir := range append([]string{on.Dir}, on.Layers...) {
		st, err := os.Lstat(filepath.Join(dir, strings.TrimPrefix(path, on.Mount)))
		if err == nil && dir != "" && !st.IsDir() {
			return true
		}
	}
	return false
}

// Written is where a box can differ from what it lies over, which need not be
// reality: the box may be given with some of its layers only.
func (p *Provider) Written(ctx context.Context, box forkbox.Box) (*change.Paths, error) {
	src, done, err := p.stacks.source(box)
	if err != nil {
		return nil, err
	}
	defer done()
	return change.Touched(ctx, src)
}

// innermost is the filesystem that a path lies on.
func innermost(uppers []change.Upper, path string) (on *change.Upper) {
	for i, u := range uppers {
		if hostmounts.Below(path, u.Mount) && (on == nil || len(u.Mount) > len(on.Mount)) {
			on = &uppers[i]
		}
	}
	return on
}
