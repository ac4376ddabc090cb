//go:build linux

package native

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/change"
)

// Discard puts paths of a box that does not run back to the base.
func (p *Provider) Discard(ctx context.Context, box forkbox.Box, changes []forkbox.Change) error {
	src, err := p.source(box)
	if err != nil {
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
