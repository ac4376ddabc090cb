package engine

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// autoKept is how many snapshots that rollbacks made a box keeps, and
// otherKept how many of those that forks, templates and exports made each.
const (
	autoKept  = 10
	otherKept = 1
)

// Rollback has a box be again as a snapshot of it. What it was is kept as a
// snapshot, so that a rollback can be rolled back.
func (e *Engine) Rollback(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.RollbackSpec) (r forkbox.Rollback, err error) {
	const op = "roll back"
	p, err := e.layers(op)
	if err != nil {
		return r, err
	}
	r.Box, err = e.change(ctx, op, who, ref, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		if r.To, err = e.findSnapshot(ctx, *box, spec.To); err != nil {
			return err
		}
		if err := e.stillFor(ctx, op, h, box, spec.Force); err != nil {
			return err
		}
		ctx = context.WithoutCancel(ctx)
		if r.Kept, err = e.rollback(ctx, p, box, r.To); err != nil {
			return err
		}
		e.forgetOldest(r.Kept)
		if err := e.adaptedBack(ctx, box); err != nil {
			return err
		}
		if box.Pinned {
			_, err = e.wake(ctx, h, box)
		}
		return err
	})
	return r, err
}

// stillFor brings a box to rest. What runs in it ends only if force says so.
func (e *Engine) stillFor(ctx context.Context, op string, h *handle, box *forkbox.Box, force bool) error {
	err := e.atRest(ctx, op, h, box)
	a := h.current()
	if forkbox.CodeOf(err) != forkbox.Busy || a == nil {
		return err
	}
	if !force {
		return forkbox.Errorf(forkbox.Busy, op, "processes are running in %s, and they would end", box.Name).
			Hint("end them and go on: --force").
			Hint("see them: forkbox ps %s", box.Name)
	}
	ctx = context.WithoutCancel(ctx)
	if err := e.halt(ctx, h, a, box, e.stopGrace); err != nil {
		return err
	}
	return e.atRest(ctx, op, h, box)
}

// rollback keeps what the box is and has it lie over the snapshot's layers.
func (e *Engine) rollback(ctx context.Context, p layered, box *forkbox.Box, to forkbox.Snapshot) (forkbox.Snapshot, error) {
	kept, err := e.newSnapshot(ctx, *box, forkbox.SnapshotSpec{Message: "before the rollback to " + to.Name}, autoPrefix)
	if err != nil {
		return kept, err
	}
	blank, err := p.Blank(ctx, *box)
	if err != nil {
		return kept, err
	}
	after := *box
	after.Layers, after.Saving, after.At = to.Layers, newID(), to.ID
	// With the fence of then: a sync since has told the box of edits to
	// reality that the snapshot does not know.
	after.Base, after.Unresolved = to.Base, to.Unresolved
	if !blank {
		kept.Layers = prepend(after.Saving, box.Layers)
		return kept, e.shelve(ctx, p, box, after, kept)
	}
	if err := e.shelve(ctx, p, box, after, kept); err != nil {
		return kept, err
	}
	// What was shelved is a layer of nothing, which can go.
	box.Saving = ""
	if err := e.ledger.UpdateBox(ctx, *box); err != nil {
		return kept, err
	}
	e.sweepSoon()
	return kept, nil
}

// forgetOldest removes what rollbacks long ago kept, in the background.
func (e *Engine) forgetOldest(kept forkbox.Snapshot) {
	prefix := prefixOf(kept.Name)
	if n, _ := strconv.Atoi(strings.TrimPrefix(kept.Name, prefix)); n <= keptOf(prefix) {
		return
	}
	e.work.Go(func() {
		_, unlock, err := e.lock(e.ctx, kept.Box)
		if err != nil {
			return
		}
		defer unlock()
		if err := e.forgetAuto(e.ctx, kept.Box); err != nil && e.ctx.Err() == nil {
			e.log.Warn("cannot remove old snapshots", "box", kept.Box, "error", err)
		}
	})
}

// forgetAuto removes the oldest automatic snapshots of a box but for what
// others need. The caller has the box's turn.
func (e *Engine) forgetAuto(ctx context.Context, id string) error {
	box, err := e.ledger.Box(ctx, id)
	if err != nil {
		return err
	}
	all, err := e.ledger.Snapshots(ctx, id)
	if err != nil {
		return err
	}
	have := map[string]int{}
	for _, s := range slices.Backward(all) {
		prefix := prefixOf(s.Name)
		if !s.Auto || s.ID == box.At {
			continue
		}
		if have[prefix]++; have[prefix] <= keptOf(prefix) {
			continue
		}
		if children, err := e.childrenOf(ctx, s); err != nil || len(children) > 0 {
			continue
		}
		if err := e.ledger.DeleteSnapshot(ctx, s.ID); err != nil {
			return err
		}
		e.sweepSoon()
	}
	return nil
}

// prefixOf is what an automatic name has before its number.
func prefixOf(name string) string { return strings.TrimRight(name, "0123456789") }

func keptOf(prefix string) int {
	if prefix == autoPrefix {
		return autoKept
	}
	return otherKept
}
