package limits

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
)

// WithSaves is a box whose disk is limited with the layers of all snapshots that
// it ever made and still has: a rollback must not be a way to get rid of what
// counts.
func (m *Manager) WithSaves(ctx context.Context, box forkbox.Box) (forkbox.Box, error) {
	if _, limited := box.Policy.Of(forkbox.Disk); !limited {
		return box, nil
	}
	snapshots, err := m.core.Ledger.Snapshots(ctx, box.ID)
	box.Saves = slices.Clone(box.Layers)
	for _, s := range snapshots {
		for _, layer := range s.Layers {
			if !slices.Contains(box.Saves, layer) {
				box.Saves = append(box.Saves, layer)
			}
		}
	}
	return box, err
}
