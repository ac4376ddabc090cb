// Package gc is the engine's manager of what may go, what is left over and what
// is lost: it measures and removes what has served its time, reports and mends what
// applies or a crash left behind, and brings back what the ledger lost.
package gc

import (
	"sync/atomic"

	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/boxes"
	"github.com/forkbox/forkbox/internal/engine/changes"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/forks"
	"github.com/forkbox/forkbox/internal/engine/landing"
	"github.com/forkbox/forkbox/internal/engine/services"
	"github.com/forkbox/forkbox/internal/engine/shelf"
	"github.com/forkbox/forkbox/internal/retention"
)

// Config is what the manager is made of; see engine.Config.
type Config struct {
	Retention    retention.Policy
	RetentionErr error
}

// Manager is safe for concurrent use.
type Manager struct {
	core     *core.Core
	bases    *bases.Manager
	shelf    *shelf.Manager
	boxes    *boxes.Manager
	changes  *changes.Manager
	landing  *landing.Manager
	forks    *forks.Manager
	services *services.Manager

	retention atomic.Pointer[Config]
	outcomes  outcomes
	tally     tally
}

// New makes a manager.
func New(c *core.Core, ba *bases.Manager, sh *shelf.Manager, b *boxes.Manager, ch *changes.Manager, la *landing.Manager, f *forks.Manager, sv *services.Manager, cfg Config) *Manager {
	m := &Manager{core: c, bases: ba, shelf: sh, boxes: b, changes: ch, landing: la, forks: f, services: sv}
	m.retention.Store(&cfg)
	return m
}

// SetRetention has another policy say how long boxes stay. err is why it is not
// known: then none is removed.
func (m *Manager) SetRetention(policy retention.Policy, err error) {
	m.retention.Store(&Config{Retention: policy, RetentionErr: err})
}
