package cgroup

import (
	"context"
	"errors"
	"time"

	"github.com/forkbox/forkbox"
)

// stillness is how long freezing may take: a process that waits for a disk or
// a network filesystem cannot be frozen before that answers.
const stillness = 10 * time.Second

// patience is how long a box may take to stand still before it is let go on
// for a moment and tried again. On older kernels a process that waits in vfork
// for its child cannot be frozen, and the child, if it was frozen first, does
// not wake it.
const patience = 100 * time.Millisecond

// Freeze has everything in the box but its first process stand still, and
// returns when it does. When it fails nothing is frozen. It can be repeated.
func (g *Group) Freeze(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stillness)
	defer cancel()
	k, x := g.host.kernel, g.execs()
	for {
		if err := k.freeze(x, true); err != nil {
			return forkbox.Wrap("freeze the box", err)
		}
		err := g.stands(ctx, patience)
		if err == nil {
			return nil
		}
		if thaw := k.freeze(x, false); ctx.Err() != nil || thaw != nil || !errors.Is(err, context.DeadlineExceeded) {
			return forkbox.Errorf(forkbox.Busy, "freeze the box", "its processes did not stand still: %w", errors.Join(err, thaw)).
				Hint("one of them may wait for a disk or network filesystem; try again, or stop the box first")
		}
		time.Sleep(time.Millisecond)
	}
}

// stands returns when all stand still.
func (g *Group) stands(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return retry(ctx, func() (bool, error) {
		frozen, err := g.host.kernel.frozen(g.execs())
		return frozen || err != nil, err
	})
}

// Thaw lets them go on. It can be repeated.
func (g *Group) Thaw(context.Context) error {
	return forkbox.Wrap("let the box go on", g.host.kernel.freeze(g.execs(), false))
}

// Frozen says whether they stand still.
func (g *Group) Frozen() (bool, error) {
	frozen, err := g.host.kernel.frozen(g.execs())
	return frozen, forkbox.Wrap("see whether the box is frozen", err)
}
