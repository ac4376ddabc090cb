// Package changes is the engine's manager of what boxes changed, as their owners
// see it: diff and status, compared with reality or with another box. It writes to
// neither.
package changes

import (
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/boxes"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/snapshots"
)

// Manager is safe for concurrent use.
type Manager struct {
	core      *core.Core
	bases     *bases.Manager
	boxes     *boxes.Manager
	snapshots *snapshots.Manager

	sharing sharing
}

// New makes a manager.
func New(c *core.Core, ba *bases.Manager, b *boxes.Manager, s *snapshots.Manager) *Manager {
	return &Manager{core: c, bases: ba, boxes: b, snapshots: s, sharing: sharing{turn: make(chan struct{}, 1)}}
}
