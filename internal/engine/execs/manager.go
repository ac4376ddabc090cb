// Package execs is the engine's manager of commands: it has a box enter its place
// on the host, starts commands in it, and lets callers wait for, signal, attach to
// and end them.
package execs

import (
	"github.com/forkbox/forkbox/internal/engine/boxes"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
	"github.com/forkbox/forkbox/internal/engine/network"
)

// Manager is safe for concurrent use.
type Manager struct {
	core    *core.Core
	network *network.Manager
	limits  *limits.Manager
	boxes   *boxes.Manager
}

// New makes a manager.
func New(c *core.Core, n *network.Manager, l *limits.Manager, b *boxes.Manager) *Manager {
	return &Manager{core: c, network: n, limits: l, boxes: b}
}
