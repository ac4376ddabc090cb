// Package landing is the engine's manager of what goes from boxes into reality and
// back: apply, undo, receipts, commits; and the other way round sync and discard.
package landing

import (
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

	undoAge  time.Duration
	undoSize int64
	// reality has a token: an operation that writes to reality holds it.
	reality chan struct{}
}

// New makes a manager.
func New(c *core.Core, ba *bases.Manager, sh *shelf.Manager, b *boxes.Manager, s *snapshots.Manager, ch *changes.Manager, cfg Config) *Manager {
	return &Manager{core: c, bases: ba, shelf: sh, boxes: b, snapshots: s, changes: ch,
		undoAge:  core.OrElse(cfg.UndoAge, 14*24*time.Hour),
		undoSize: core.OrElse(cfg.UndoSize, 10<<30),
		reality:  make(chan struct{}, 1),
	}
}
