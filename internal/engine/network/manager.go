// Package network is the engine's manager of what boxes reach: the terms of a
// box's network, its gate while it runs, the record of every connection, and the
// ports by which the host gets in.
package network

import (
	"sync/atomic"

	"github.com/forkbox/forkbox/internal/engine/core"
)

// Manager is safe for concurrent use.
type Manager struct {
	core *core.Core

	networks  Networks // may be nil, as ports may
	ports     Ports
	records   *recorder
	followers followers
	connID    atomic.Int64 // the last that was given
}

// New makes a manager. networks and ports may be nil: then there are no gates,
// or no ports are published.
func New(c *core.Core, networks Networks, ports Ports) *Manager {
	m := &Manager{core: c, networks: networks, ports: ports}
	m.records = newRecorder(c.Ledger.SaveConns, m.followers.tell, c.Log)
	return m
}
