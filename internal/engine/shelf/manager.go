// Package shelf is the engine's manager of layers: it makes the top of a box one,
// merges stacks that have become deep, adapts what is a box's own to what landed,
// keeps boxes of templates ready, and sweeps what nothing names any more.
package shelf

import (
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Manager is safe for concurrent use.
type Manager struct {
	core *core.Core

	layers shelf
	// templates has a token: an operation that changes or uses templates holds it.
	templates chan struct{}
}

// New makes a manager.
func New(c *core.Core) *Manager {
	return &Manager{core: c, templates: make(chan struct{}, 1)}
}
