// Package limits is the engine's manager of what boxes may use: it resolves what
// is asked for to a policy, has boxes wait for a place on the host, measures what
// they use, and pauses those that use too much.
package limits

import (
	"sync"
	"time"

	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/network"
)

// Config is what the manager is made of; see engine.Config.
type Config struct {
	Policies    Policies // may be nil
	Series      func(box string) string
	LogCap      int64
	SampleEvery time.Duration
	WatchEvery  time.Duration
}

// Manager is safe for concurrent use.
type Manager struct {
	core    *core.Core
	network *network.Manager

	policies    Policies
	AdmitsAll   bool // there are no policies: no caller has to ask
	Line        *Line
	seriesFile  func(box string) string
	logCap      int64
	SampleEvery time.Duration
	watchEvery  time.Duration
	guard       sync.Once
}

// New makes a manager.
func New(c *core.Core, n *network.Manager, cfg Config) *Manager {
	none := cfg.Policies == nil
	if none {
		cfg.Policies = unlimited{}
	}
	if cfg.Series == nil {
		cfg.Series = func(string) string { return "" }
	}
	return &Manager{core: c, network: n,
		policies: cfg.Policies, AdmitsAll: none, Line: newLine(cfg.Policies), seriesFile: cfg.Series,
		logCap:      core.OrElse(cfg.LogCap, 16<<20),
		SampleEvery: core.OrElse(cfg.SampleEvery, 5*time.Second),
		watchEvery:  core.OrElse(cfg.WatchEvery, time.Second),
	}
}
