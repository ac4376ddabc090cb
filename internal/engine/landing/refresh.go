package landing

import (
	"context"

	"github.com/forkbox/forkbox"
)

// refreshing is for instances that remember what they saw of reality.
type refreshing interface {
	// Refresh has the box see what reality has now.
	Refresh(ctx context.Context) error
}

// lookAgain has a box that runs see reality as it is: what is older than the new
// fence counts as known to it. What it wrote before this, over a file that it was
// not shown, is among the changes that the sync then reads, by the old fence.
func (s *syncing) lookAgain(ctx context.Context) error {
	const op = "sync"
	a, err := s.boxes.Find(ctx, s.h, s.box)
	if err != nil || a == nil {
		return err
	}
	r, ok := a.Instance.(refreshing)
	if !ok {
		return nil
	}
	if err := r.Refresh(ctx); err != nil {
		return forkbox.Errorf(forkbox.Busy, op, "the box runs and cannot be shown what reality changed: %w", err).
			Hint("stop it and try again: forkbox stop %s", s.box.Name)
	}
	return nil
}
