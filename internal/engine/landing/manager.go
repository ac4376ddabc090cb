// Package landing is the engine's manager of what goes from boxes into reality and
// back: apply, undo, receipts, commits; and the other way round sync and discard.
package landing

import (
	"sync/atomic"
	"time"

	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/boxes"
	"github.com/forkbox/forkbox/internal/engine/changes"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/shelf"
	"github.com/forkbox/forkbox/internal/engine/snapshots"
)

// Config is what the manager is made of; see engine.Config.
type Config struct {
	UndoAge  time.Duration
	UndoSize int64
}

// Manager is safe for concurrent use.
type Manager struct {
	core      *core.Core
	bases     *bases.Manager
	shelf     *shelf.Manager
	boxes     *boxes.Manager
	snapshots *snapshots.Manager
	changes   *changes.Manager

	undoLimits
	memories *memories
	// reality has a token: an operation that writes to reality holds it.
	reality chan struct{}
}

// New makes a manager.
func New(c *core.Core, ba *bases.Manager, sh *shelf.Manager, b *boxes.Manager, s *snapshots.Manager, ch *changes.Manager, cfg Config) *Manager {
	m := &Manager{core: c, bases: ba, shelf: sh, boxes: b, snapshots: s, changes: ch, memories: &memories{core: c, changes: ch}, reality: make(chan struct{}, 1)}
	m.SetUndo(cfg.UndoAge, cfg.UndoSize)
	return m
}

// undoLimits are for how long, and how much of, what applies replaced is kept.
type undoLimits struct{ now atomic.Pointer[Config] }

// SetUndo says how long applies can be undone, and how many bytes are kept for
// that; 14 days and 10 GiB if zero. It counts from the next apply on.
func (u *undoLimits) SetUndo(age time.Duration, size int64) {
	u.now.Store(&Config{UndoAge: core.OrElse(age, 14*24*time.Hour), UndoSize: core.OrElse(size, 10<<30)})
}
