package engine

import (
	"context"

	"github.com/forkbox/forkbox"
)

// Reconcile makes the world agree with the ledger, after a crash or a restart:
// boxes that were being made or removed go, running boxes are attached again.
// Boxes at rest cost nothing here. One box that fails does not hold up the
// others: its note says what is wrong.
func (e *Engine) Reconcile(ctx context.Context) error {
	ctx, end, err := e.begin(ctx, "reconcile")
	if err != nil {
		return err
	}
	defer end()
	if err := e.resumeRecords(ctx); err != nil {
		return forkbox.Wrap("reconcile", err)
	}
	boxes, err := e.ledger.Boxes(ctx, nil, forkbox.Creating, forkbox.Running, forkbox.Removing)
	if err != nil {
		return forkbox.Wrap("reconcile", err)
	}
	for _, box := range boxes {
		if err := e.reconcile(ctx, box); err != nil {
			e.log.Error("cannot reconcile a box", "box", box.ID, "name", box.Name, "state", box.State, "error", err)
		}
	}
	e.settleReceipts(ctx)
	e.finishAtRest(ctx)
	e.guardReserve()
	return nil
}

// finishAtRest does for boxes at rest what a crash interrupted.
func (e *Engine) finishAtRest(ctx context.Context) {
	boxes, err := e.ledger.Boxes(ctx, nil, forkbox.Stopped)
	if err != nil {
		e.log.Error("cannot list boxes", "error", err)
		return
	}
	e.countBoxes(ctx, boxes)
	e.finishSaving(ctx, boxes)
	if err := e.restoreUnrecorded(ctx); err != nil {
		e.log.Error("cannot look for what was lost", "error", err)
	}
	e.finishRebases(ctx, boxes)
	e.finishSyncs(ctx, boxes)
	e.sweepSoon()
	if err := e.warmAll(ctx); err != nil {
		e.log.Error("cannot keep templates warm", "error", err)
	}
}

func (e *Engine) reconcile(ctx context.Context, box forkbox.Box) error {
	h, unlock, err := e.lock(ctx, box.ID)
	if err != nil {
		return err
	}
	defer unlock()
	if box.State == forkbox.Running {
		_, err := e.found(ctx, h, &box)
		return err
	}
	if box.State == forkbox.Creating && e.isKept(box.ID) {
		// Only a box that was made has a record: this ledger is an older one.
		box.State = forkbox.Stopped
		return e.ledger.UpdateBox(ctx, box)
	}
	return e.remove(ctx, h, &box)
}

// countBoxes begins to count what everybody has, with the boxes at rest.
func (e *Engine) countBoxes(ctx context.Context, atRest []forkbox.Box) {
	active, err := e.ledger.Boxes(ctx, nil, forkbox.Creating, forkbox.Running, forkbox.Removing)
	if err != nil {
		e.log.Error("cannot list boxes", "error", err)
	}
	e.queue.count(append(active, atRest...))
}
