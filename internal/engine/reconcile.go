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
	ctx, end, err := e.core.Begin(ctx, "reconcile")
	if err != nil {
		return err
	}
	defer end()
	if err := e.networkManager.ResumeRecords(ctx); err != nil {
		return forkbox.Wrap("reconcile", err)
	}
	boxes, err := e.core.Ledger.Boxes(ctx, nil, forkbox.Creating, forkbox.Running, forkbox.Removing)
	if err != nil {
		return forkbox.Wrap("reconcile", err)
	}
	if err := e.refuseForeign(boxes); err != nil {
		return err
	}
	for _, box := range boxes {
		if err := e.boxesManager.ReconcileOne(ctx, box); err != nil {
			e.core.Log.ErrorContext(ctx, "cannot reconcile a box", "box", box.ID, "name", box.Name, "state", box.State, "error", err)
		}
	}
	e.landingManager.SettleReceipts(ctx)
	if err := e.finishAtRest(ctx); err != nil {
		return err
	}
	e.limitsManager.GuardReserve()
	return nil
}

// refuseForeign refuses to serve boxes of another provider: to this one they
// would be dead, and have no files.
func (e *Engine) refuseForeign(boxes []forkbox.Box) error {
	here := e.core.Provider.Name()
	for _, box := range boxes {
		if box.Provider != "" && box.Provider != here {
			return forkbox.Errorf(forkbox.Unsupported, "serve boxes with provider "+here, "box %s is one of provider %s", box.Name, box.Provider).
				Hint("set serve.provider: %s in the configuration, or use another directory (FORKBOX_HOME)", box.Provider)
		}
	}
	return nil
}

// finishAtRest does for boxes at rest what a crash interrupted.
func (e *Engine) finishAtRest(ctx context.Context) error {
	boxes, err := e.core.Ledger.Boxes(ctx, nil, forkbox.Stopped)
	if err != nil {
		return forkbox.Wrap("reconcile", err)
	}
	if err := e.refuseForeign(boxes); err != nil {
		return err
	}
	e.limitsManager.CountBoxes(ctx, boxes)
	e.shelfManager.FinishSaving(ctx, boxes)
	if err := e.gcManager.RestoreUnrecorded(ctx); err != nil {
		e.core.Log.ErrorContext(ctx, "cannot look for what was lost", "error", err)
	}
	e.shelfManager.FinishRebases(ctx, boxes)
	e.landingManager.FinishSyncs(ctx, boxes)
	e.shelfManager.SweepSoon()
	if err := e.shelfManager.WarmAll(ctx); err != nil {
		e.core.Log.ErrorContext(ctx, "cannot keep templates warm", "error", err)
	}
	return nil
}
