package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/scope"
)

// What races need of an engine beside the verbs.

// Fence is the moment at which a box would be forked that were made now.
func (e *Engine) Fence() time.Time { return e.fence() }

// Provider is what boxes are isolated with.
func (e *Engine) Provider() string { return e.provider.Name() }

// Passable is what of an environment may be recorded and given to boxes:
// credentials are taken out of it, but for those that allow names.
func (e *Engine) Passable(env, allow []string) []string {
	kept, _ := e.secrets(env, allow)
	return kept
}

// Workspace is the directory that the changes of a box count in that was made in
// dir; empty if there is none.
func (e *Engine) Workspace(dir string) string { return scope.Root(dir, exists) }

// FriendlyName is a name for something that its owner gave none. Where it is
// taken, the next attempt may have another.
func FriendlyName(attempt int) string { return friendlyName(attempt) }

// Retire stops a box that its race is done with, with all that the race left
// running there. One that somebody runs a command of their own in is theirs.
func (e *Engine) Retire(ctx context.Context, who forkbox.Owner, ref string, grace time.Duration) error {
	_, err := e.change(ctx, "stop box", who, ref, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		if box.Pinned || h.visited() {
			return nil
		}
		return e.stop(ctx, who, h, box, &grace)
	})
	return err
}

// visited says whether a command runs in a box that is not of its race.
func (h *handle) visited() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attached == nil {
		return false
	}
	own := func(x *execution) bool { return x.exec.Label == "" }
	return slices.ContainsFunc(slices.Collect(maps.Values(h.attached.execs)), own)
}

// Consumed is what a box that runs has used of processors and memory since it
// was started. It does not look at its disk, which may mean every file.
func (e *Engine) Consumed(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Stats, error) {
	const op = "measure box"
	ctx, end, err := e.begin(ctx, op)
	if err != nil {
		return forkbox.Stats{}, err
	}
	defer end()
	id, err := e.idOf(ctx, who, ref)
	if err != nil {
		return forkbox.Stats{}, err
	}
	h := e.handle(id)
	if h == nil {
		return forkbox.Stats{}, forkbox.Errorf(forkbox.Busy, op, "it does not run")
	}
	a := h.current()
	if a == nil {
		return forkbox.Stats{}, forkbox.Errorf(forkbox.Busy, op, "it does not run")
	}
	g, ok := a.instance.(interface {
		Used(ctx context.Context) (forkbox.Stats, error)
	})
	if !ok {
		return forkbox.Stats{}, forkbox.Errorf(forkbox.Unsupported, op, "provider %s does not know", e.provider.Name())
	}
	ctx, cancel := context.WithTimeout(ctx, statsLimit)
	defer cancel()
	return g.Used(ctx)
}

// Supersede marks boxes of who's, by their ids, as having lost to the box of a
// receipt. An undo of that takes the mark back. Those that are gone are passed
// over.
func (e *Engine) Supersede(ctx context.Context, who forkbox.Owner, boxes []string, receipt string) error {
	ctx, end, err := e.begin(ctx, "mark boxes stale")
	if err != nil {
		return err
	}
	defer end()
	r, err := e.ledger.Receipt(ctx, receipt)
	if err != nil {
		return err
	}
	lost := forkbox.Staleness{Receipt: r.ID, Box: r.BoxName, Lost: true}
	for _, id := range boxes {
		box, err := e.ledger.Box(ctx, id)
		if isNotFound(err) || err == nil && (box.Owner.UID != who.UID || box.ID == r.Box || box.Stale != nil && *box.Stale == lost) {
			continue
		}
		if err != nil {
			return err
		}
		e.updateBox(ctx, id, func(b *forkbox.Box) { b.Stale = &lost })
	}
	return nil
}

// lostTo is the receipt of the box of the same race that landed instead of one.
// Boxes that are stale because another landed some path have not lost by that.
func (e *Engine) lostTo(ctx context.Context, b forkbox.Box) (forkbox.Receipt, bool) {
	if b.Race == "" || b.Stale == nil || !b.Stale.Lost {
		return forkbox.Receipt{}, false
	}
	r, err := e.ledger.Receipt(ctx, b.Stale.Receipt)
	return r, err == nil && r.BoxName == b.Stale.Box && r.Undone.IsZero()
}

func (e *Engine) isLost(ctx context.Context, b forkbox.Box) bool {
	_, lost := e.lostTo(ctx, b)
	return lost
}

// Why [Engine.Land] refuses what [Engine.Apply] would land.
var (
	// ErrAltered says that the box is not what the snapshot is any more.
	ErrAltered = errors.New("its box was changed since")
	// ErrDrifted says that reality has changed paths that would land, since the
	// box was forked or synced: what would land is a merge that nobody saw.
	ErrDrifted = errors.New("reality has changed paths that would land")
)

// Land is Apply of a box that is at rest exactly what a snapshot of it is, and
// lands exactly that: no merge. Without a snapshot it is Apply.
//
// What remains: reality belongs to others, who can write to it between the look
// at it and the landing, a few milliseconds later. A path that lands and that
// they change then is noticed when it is replaced, and nothing lands, or it is
// merged; what they change beside it stays, and lands unjudged next to it.
func (e *Engine) Land(ctx context.Context, who forkbox.Owner, ref, snapshot string, spec forkbox.ApplySpec) (receipt forkbox.Receipt, err error) {
	const op = "apply"
	if snapshot == "" {
		return e.Apply(ctx, who, ref, spec)
	}
	if err := checkApply(op, spec); err != nil {
		return receipt, err
	}
	release, err := e.holdReality(ctx, op)
	if err != nil {
		return receipt, err
	}
	defer release()
	_, err = e.change(ctx, op, who, ref, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		if err := onReality(op, *box); err != nil {
			return err
		}
		same, err := e.stillIs(ctx, op, h, box, snapshot)
		if err == nil && !same {
			err = forkbox.Errorf(forkbox.Unconfirmed, op, "%w", ErrAltered)
		}
		if err == nil {
			e.settleInterrupted(context.WithoutCancel(ctx))
			receipt, err = e.landUnmerged(ctx, h, *box, who, spec)
		}
		return errors.Join(err, e.awakeAgain(ctx, h, box))
	})
	return receipt, err
}

// landUnmerged looks at what would land before it does. The caller has the
// box's turn, and reality's.
func (e *Engine) landUnmerged(ctx context.Context, h *handle, box forkbox.Box, who forkbox.Owner, spec forkbox.ApplySpec) (forkbox.Receipt, error) {
	dry := spec
	dry.DryRun = true
	a, err := e.newApplication(ctx, h, box, who, dry)
	if err != nil {
		return forkbox.Receipt{}, err
	}
	would, err := a.run(ctx)
	switch {
	case err != nil:
		return would, err
	case spec.DryRun: // reality may have changed: that is told otherwise
		return would, nil
	case would.Merged > 0:
		return forkbox.Receipt{}, forkbox.Errorf(forkbox.Conflict, "apply", "%w", ErrDrifted)
	}
	if a, err = e.newApplication(ctx, h, box, who, spec); err != nil {
		return forkbox.Receipt{}, err
	}
	return a.run(ctx)
}

// StillIs says whether a box at rest is exactly what a snapshot of it is. One in
// which something runs is a Busy error.
func (e *Engine) StillIs(ctx context.Context, who forkbox.Owner, ref, snapshot string) (same bool, err error) {
	const op = "compare box"
	_, err = e.change(ctx, op, who, ref, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		same, err = e.stillIs(ctx, op, h, box, snapshot)
		return errors.Join(err, e.awakeAgain(ctx, h, box))
	})
	return same, err
}

// stillIs brings the box to rest. Whether it was saved as something else since,
// or rolled back to and fro, does not matter; that its fence was moved does: the
// snapshot was of another reality. The caller has the box's turn.
func (e *Engine) stillIs(ctx context.Context, op string, h *handle, box *forkbox.Box, snapshot string) (bool, error) {
	p, err := e.layers(op)
	if err != nil {
		return false, err
	}
	if err := e.atRest(ctx, op, h, box); err != nil {
		return false, err
	}
	s, err := e.ledger.Snapshot(ctx, box.ID, snapshot)
	if err != nil {
		if isNotFound(err) { // its owner removed it: nobody knows
			return false, nil
		}
		return false, err
	}
	if s.ID != snapshot || !slices.Equal(s.Layers, box.Layers) || !s.Base.Fence.Equal(box.Base.Fence) {
		return false, nil
	}
	return p.Blank(ctx, *box)
}

// awakeAgain starts a box that was brought to rest and whose owner wants it
// running.
func (e *Engine) awakeAgain(ctx context.Context, h *handle, box *forkbox.Box) error {
	if !box.Pinned || h.current() != nil {
		return nil
	}
	_, err := e.wake(context.WithoutCancel(ctx), h, box)
	return err
}
