//go:build linux

package native

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/change"
)

// Discard puts paths of a box that does not run back to the base.
func (p *Provider) Discard(ctx context.Context, box forkbox.Box, changes []forkbox.Change) error {
	src, done, err := p.source(box)
	if err != nil {
		return err
	}
	defer done()
	if err := p.ownUppers(src, box); err != nil {
		return err
	}
	bin, err := p.store.BinOf(box.ID)
	if err != nil {
		return err
	}
	if err := change.Discard(ctx, src, changes, bin); err != nil {
		return err
	}
	return p.store.EmptyBin(ctx, box.ID)
}

// ownUppers gives a box something to write to on every filesystem that its
// layers are of: what they changed can be put back only by writing over it.
func (p *Provider) ownUppers(src change.Source, box forkbox.Box) error {
	for i, u := range src.Uppers {
		if u.Dir != "" {
			continue
		}
		dir, made, err := p.store.NewUpper(box.ID, u.Mount)
		if err == nil && made {
			err = p.likeBelow(dir, "", u.Layers)
		}
		if err != nil {
			return err
		}
		src.Uppers[i].Dir = dir
	}
	return nil
}
