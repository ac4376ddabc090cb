//go:build linux

package native

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/change"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

// Changes reads them off the box's upper directories; the box may run.
func (p *Provider) Changes(ctx context.Context, box forkbox.Box, yield func(forkbox.Change, forkbox.Sides) error) error {
	src, done, err := p.source(box)
	if err != nil {
		return err
	}
	defer done()
	return change.Read(ctx, src, yield)
}

// source is where the changes of a box are, until done is called.
func (p *Provider) source(box forkbox.Box) (src change.Source, done func(), err error) {
	src = change.Source{Base: "/", XattrPrefix: p.xattrPrefix()}
	base, done, err := p.openBase(box)
	if err != nil {
		return src, nil, err
	}
	if !box.Base.IsReality() {
		src.Base = base.dir
	} else {
		c, err := p.concealment(box)
		if err != nil {
			done()
			return src, nil, err
		}
		src.Hidden = c.hidden
	}
	// What the box makes of its own files, it makes of what reality does not have:
	// its name, its name server, or its trust, must not land there.
	src.Hidden = append(slices.Clone(src.Hidden), p.ownFiles(box)...)
	if src.Uppers, err = p.uppers(box); err != nil {
		done()
		return src, nil, err
	}
	if p.rootless {
		src.IgnoreOwner = true
	} else {
		src.Reader = &box.Owner // root reads everything, and must not tell others
	}
	if p.rootless && box.Base.Root == "" {
		src.Skip = stubs(src.Uppers)
	}
	return src, done, nil
}

// xattrPrefix is that of overlayfs's own attributes.
func (p *Provider) xattrPrefix() string {
	if p.rootless {
		return "user.overlay."
	}
	return "trusted.overlay."
}

// uppers is what the box itself wrote, with the layers below that.
func (p *Provider) uppers(box forkbox.Box) (list []change.Upper, err error) {
	stack, err := p.stack(p.below(box))
	if err != nil {
		return nil, err
	}
	var own []layers.Upper
	if !box.Bare {
		if own, err = p.store.Uppers(box.ID); err != nil {
			return nil, err
		}
	}
	for _, u := range own {
		list = append(list, change.Upper{Mount: u.Mount, Dir: u.Dir, Layers: stack[u.Mount]})
		delete(stack, u.Mount)
	}
	for mount, dirs := range stack {
		list = append(list, change.Upper{Mount: mount, Layers: dirs})
	}
	slices.SortFunc(list, func(a, b change.Upper) int { return strings.Compare(a.Mount, b.Mount) })
	return list, nil
}

// stubs recognises, in an unprivileged box, the files that were only mounted
// over: outside of every overlay, whatever reality has the box cannot change.
func stubs(uppers []change.Upper) func(path string) bool {
	var overlays []string
	for _, u := range uppers {
		if u.Mount != "/" {
			overlays = append(overlays, u.Mount)
		}
	}
	return func(path string) bool {
		if below(path, overlays...) {
			return false
		}
		st, err := os.Lstat(path)
		return err == nil && !st.IsDir()
	}
}
