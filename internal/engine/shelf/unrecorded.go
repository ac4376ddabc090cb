package shelf

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Unrecorded is the box whose writes a layer is without the ledger knowing: a
// power cut can lose the ledger's last words and not the rename. Nothing names
// such a layer, and it is all that the box ever wrote.
func (m *Manager) Unrecorded(ctx context.Context, layer string) *forkbox.Box {
	p, ok := m.core.Provider.(core.Layered)
	if !ok {
		return nil
	}
	id, times, ok := p.ShelvedFrom(layer)
	if !ok {
		return nil
	}
	box, err := m.core.Ledger.Box(ctx, id)
	if err != nil || box.Shelved >= times {
		return nil
	}
	return &box
}
