// Package bases is the engine's manager of what reality was when a box was
// forked: it looks at workspaces and asks git right after a fork, so that a merge
// has something to start from.
package bases

import (
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Manager is safe for concurrent use.
type Manager struct {
	core *core.Core

	// Dir is the directory that keeps what a box was forked from. It goes with
	// the box. Nil where nothing is kept.
	Dir func(box string) string

	scans scans
	looks looks
}

// New makes a manager.
func New(c *core.Core, dir func(box string) string) *Manager {
	return &Manager{core: c, Dir: dir}
}
