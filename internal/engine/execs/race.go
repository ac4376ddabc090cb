package execs

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Retire stops a box that its race is done with, with all that the race left
// running there. One in which a user runs a command beside the race stays theirs.
func (m *Manager) Retire(ctx context.Context, who forkbox.Owner, ref string, grace time.Duration) error {
	_, err := m.core.Change(ctx, "stop box", who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if box.Pinned || visited(h) {
			return nil
		}
		return m.boxes.StopInTurn(ctx, who, h, box, &grace)
	})
	return err
}

// visited says whether a command runs in a box that is not of its race.
func visited(h *core.Handle) bool {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if h.Attached == nil {
		return false
	}
	own := func(x *core.Execution) bool { return x.Exec.Label == "" }
	return slices.ContainsFunc(slices.Collect(maps.Values(h.Attached.Execs)), own)
}
