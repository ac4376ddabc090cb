//go:build linux

package native

import (
	"context"
	"os"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/provider/native/hostmounts"
	"github.com/forkbox/forkbox/internal/storage/change"
)

// Changes reads them off the box's upper directories; the box may run.
func (p *Provider) Changes(ctx context.Context, box forkbox.Box, yield func(forkbox.Change, forkbox.Sides) error) error {
	src, done, err := p.stacks.source(box)
	if err != nil {
		return err
	}
	defer done()
	return change.Read(ctx, src, yield)
}

// source is where the changes of a box are, until done is called.
func (st *stacks) source(box forkbox.Box) (src change.Source, done func(), err error) {
	src = change.Source{Base: "/", XattrPrefix: st.xattrPrefix()}
	base, done, err := st.scenery.openBase(box)
	if err != nil {
		return src, nil, err
	}
	if !box.Base.IsReality() {
		src.Base = base.dir
	} else {
		c, err := st.scenery.concealment(box)
		if err != nil {
			done()
			return src, nil, err
		}
		src.Hidden = c.hidden
	}
	// What the box makes of its own files, it makes of what reality does not have:
	// its name, its name server, or its trust, must not land there.
	src.Hidden = append(slices.Clone(src.Hidden), st.scenery.ownFiles(box)...)
	if src.Uppers, err = st.uppers(box); err != nil {
		done()
		return src, nil, err
	}
	if st.rootless {
		src.IgnoreOwner = true
	} else {
		src.Reader = &box.Owner // root reads everything, and must not tell others
	}
	if st.rootless && box.Base.Root == "" {
		src.Skip = stubs(src.Uppers)
	}
	if data := box.ServiceData(); len(data) > 0 {
		src.Skip = except(data, src.Skip)
	}
	return src, done, nil
}

// except leaves out what copies of services keep: they began with a still and not
// with what reality has there, so it is no change of that, and must never land.
func except(data []string, skip func(path string) bool) func(path string) bool {
	return func(path string) bool {
		return hostmounts.Below(path, data...) || skip != nil && skip(path)
	}
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
		if hostmounts.Below(path, overlays...) {
			return false
		}
		st, err := os.Lstat(path)
		return err == nil && !st.IsDir()
	}
}
