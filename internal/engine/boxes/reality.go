package boxes

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// SettleSync decides a sync of a box that was interrupted, and wakes the box for
// that. The caller has the box's turn.
func (m *Manager) SettleSync(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
	if box.Syncing == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if _, err := m.Wake(ctx, h, box); err != nil {
		return err
	}
	m.ForgetReality(ctx, h, box)
	return nil
}

// ForgetReality stops a box that nothing runs in, after reality changed under
// it: its mounts may remember what was there before, and then `rm -r` fails, or
// a file is shown that is none. It is awake again when it is used. The caller
// has the box's turn.
func (m *Manager) ForgetReality(ctx context.Context, h *core.Handle, box *forkbox.Box) {
	if box.Pinned || m.InUse(ctx, h, *box) != nil {
		return
	}
	if a, err := m.Find(ctx, h, box); err == nil && a != nil {
		if err := m.Halt(ctx, h, a, box, m.StopGrace); err != nil {
			m.core.Log.WarnContext(ctx, "cannot send a box to rest", "box", box.ID, "error", err)
		}
	}
}
