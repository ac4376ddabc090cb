package landing

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/shelf"
)

// whileMoving does something to reality that moves directories of a box's base.
// The caller has the box's turn; the box is brought to rest. That it has to be
// rebased is written down before, so that a restart knows.
func (m *Manager) whileMoving(ctx context.Context, op string, h *core.Handle, box *forkbox.Box, receipt string, do func() error) error {
	provider, ok := m.core.Provider.(shelf.Rebaser)
	if !ok {
		return do()
	}
	if err := m.boxes.BringToRest(ctx, op, h, box); err != nil {
		return err
	}
	if err := m.shelf.ShelveTop(ctx, box); err != nil {
		return err
	}
	box.Rebase = receipt
	if err := m.core.Ledger.UpdateBox(ctx, *box); err != nil {
		return err
	}
	if err := do(); err != nil {
		box.Rebase = ""
		_ = m.core.Ledger.UpdateBox(ctx, *box) // it is found again at the next start
		return err
	}
	return m.shelf.AdaptToReceipt(ctx, provider, box)
}

// adaptAtRest adapts a box, as [shelf.Manager.Adapt] does, also one that may run.
func (m *Manager) adaptAtRest(ctx context.Context, op string, h *core.Handle, box *forkbox.Box) error {
	if err := m.boxes.SettleSync(ctx, h, box); err != nil {
		return err
	}
	undone, err := m.shelf.UndoneMoves(ctx, *box)
	if err != nil || box.Rebase == "" && len(undone) == 0 {
		return err
	}
	if err := m.boxes.BringToRest(ctx, op, h, box); err != nil {
		return err
	}
	return m.shelf.Adapt(ctx, box)
}
