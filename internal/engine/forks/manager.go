// Package forks is the engine's manager of how boxes come to be: as forks of
// reality, of another box, of a snapshot, a template or an image; and how they
// leave as images.
package forks

import (
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/boxes"
	"github.com/forkbox/forkbox/internal/engine/changes"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
	"github.com/forkbox/forkbox/internal/engine/network"
	"github.com/forkbox/forkbox/internal/engine/shelf"
	"github.com/forkbox/forkbox/internal/engine/snapshots"
)

// Manager is safe for concurrent use.
type Manager struct {
	core      *core.Core
	network   *network.Manager
	limits    *limits.Manager
	bases     *bases.Manager
	shelf     *shelf.Manager
	boxes     *boxes.Manager
	snapshots *snapshots.Manager
	changes   *changes.Manager

	uploads uploads
}

// New makes a manager.
func New(c *core.Core, n *network.Manager, l *limits.Manager, ba *bases.Manager, sh *shelf.Manager, b *boxes.Manager, s *snapshots.Manager, ch *changes.Manager) *Manager {
	return &Manager{core: c, network: n, limits: l, bases: ba, shelf: sh, boxes: b, snapshots: s, changes: ch}
}
