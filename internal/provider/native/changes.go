//go:build linux

package native

import (
	"context"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/change"
)

// Changes reads them off the box's upper directories; the box may run.
func (p *Provider) Changes(ctx context.Context, box forkbox.Box, yield func(forkbox.Change, forkbox.Sides) error) error {
	src, err := p.source(box)
	if err != nil {
		return err
	}
	return change.Read(ctx, src, yield)
}

// source is where the changes of a box are.
func (p *Provider) source(box forkbox.Box) (change.Source, error) {
	uppers, err := p.store.Uppers(box.ID)
	if err != nil {
		return change.Source{}, err
	}
	src := change.Source{Base: "/", XattrPrefix: "trusted.overlay.", Hidden: p.concealment(box).hidden}
	for _, u := range uppers {
		src.Uppers = append(src.Uppers, change.Upper{Mount: u.Mount, Dir: u.Dir})
	}
	if p.rootless {
		src.XattrPrefix, src.IgnoreOwner = "user.overlay.", true
		src.Skip = stubs(src.Uppers)
	}
	return src, nil
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
