// Package boxes is the engine's manager of boxes that run: it starts, attaches to,
// tends, stops and removes them, and writes down how what ran in them ended.
package boxes

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
	"github.com/forkbox/forkbox/internal/engine/network"
	"github.com/forkbox/forkbox/internal/engine/shelf"
)

// Config is what the manager is made of; see engine.Config.
type Config struct {
	RestAfter time.Duration
	StopGrace time.Duration
	Tick      time.Duration
}

// Manager is safe for concurrent use.
type Manager struct {
	core    *core.Core
	network *network.Manager
	limits  *limits.Manager
	bases   *bases.Manager
	shelf   *shelf.Manager

	hooks     Hooks
	restAfter time.Duration
	StopGrace time.Duration // between TERM and KILL
	clocks    *clocks
}

// Hooks are what this manager asks of those above it, which know what landed in
// a box and what it changed.
type Hooks struct {
	// DecideSync ends a sync that was interrupted, in a box that was just found
	// or started.
	DecideSync func(ctx context.Context, instance forkbox.Instance, box *forkbox.Box) error
	// ForgetSync removes what is left of one of a box that is gone.
	ForgetSync func(box forkbox.Box)
	// BringUp starts the services of a box that was just started, and TakeDown asks
	// them to end in one that is about to.
	BringUp  func(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box) error
	TakeDown func(ctx context.Context, h *core.Handle, a *core.Attached, grace time.Duration)
	// Observe looks at a box in which the last command has ended.
	Observe func(id string)
}

// SetHooks is called before the first verb.
func (m *Manager) SetHooks(h Hooks) { m.hooks = h }

// New makes a manager. It wants hooks before it is used.
func New(c *core.Core, n *network.Manager, l *limits.Manager, ba *bases.Manager, sh *shelf.Manager, cfg Config) *Manager {
	m := &Manager{core: c, network: n, limits: l, bases: ba, shelf: sh,
		restAfter: core.OrElse(cfg.RestAfter, 30*time.Second),
		StopGrace: core.OrElse(cfg.StopGrace, 10*time.Second),
	}
	m.clocks = &clocks{core: c, boxes: m, tick: core.OrElse(cfg.Tick, 10*time.Second)}
	return m
}
