package engine

import (
	"context"

	"github.com/forkbox/forkbox"
)

// Keep says whether gc leaves a box alone, whatever its age.
func (e *Engine) Keep(ctx context.Context, who forkbox.Owner, ref string, keep bool) (forkbox.Box, error) {
	return e.change(ctx, "keep box", who, ref, func(ctx context.Context, _ *handle, box *forkbox.Box) error {
		if err := usable("keep box", *box); err != nil || box.Kept == keep {
			return err
		}
		box.Kept = keep
		return e.ledger.UpdateBox(ctx, *box)
	})
}
