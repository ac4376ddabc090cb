package engine

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/scope"
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
	g, ok := a.instance.(forkbox.Governed)
	if !ok {
		return forkbox.Stats{}, forkbox.Errorf(forkbox.Unsupported, op, "provider %s does not know", e.provider.Name())
	}
	ctx, cancel := context.WithTimeout(ctx, statsLimit)
	defer cancel()
	return g.Stats(ctx)
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
	for _, id := range boxes {
		box, err := e.ledger.Box(ctx, id)
		if isNotFound(err) || err == nil && (box.Owner.UID != who.UID || box.ID == r.Box || box.StaleBy == r.ID && box.Stale == r.BoxName) {
			continue
		}
		if err != nil {
			return err
		}
		e.updateBox(ctx, id, func(b *forkbox.Box) { b.Stale, b.StaleBy = r.BoxName, r.ID })
	}
	return nil
}

// lostTo is the receipt of the box of the same race that landed instead of one.
// Boxes that are stale because another landed some path have a sentence there.
func (e *Engine) lostTo(ctx context.Context, b forkbox.Box) (forkbox.Receipt, bool) {
	if b.Race == "" || b.StaleBy == "" {
		return forkbox.Receipt{}, false
	}
	r, err := e.ledger.Receipt(ctx, b.StaleBy)
	return r, err == nil && r.BoxName == b.Stale && r.Undone.IsZero()
}

func (e *Engine) isLost(ctx context.Context, b forkbox.Box) bool {
	_, lost := e.lostTo(ctx, b)
	return lost
}
