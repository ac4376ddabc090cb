// Package snapshots is the engine's manager of points in a box's life: it makes,
// finds, goes back to and removes them, and keeps templates.
package snapshots

import (
	"github.com/forkbox/forkbox/internal/engine/boxes"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
	"github.com/forkbox/forkbox/internal/engine/shelf"
)

// Manager is safe for concurrent use.
type Manager struct {
	core   *core.Core
	limits *limits.Manager
	shelf  *shelf.Manager
	boxes  *boxes.Manager
}

// New makes a manager.
func New(c *core.Core, l *limits.Manager, sh *shelf.Manager, b *boxes.Manager) *Manager {
	return &Manager{core: c, limits: l, shelf: sh, boxes: b}
}
