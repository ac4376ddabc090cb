package engine

import (
	"time"

	"github.com/forkbox/forkbox/internal/engine/core"
)

// What races need of an engine beside the verbs.

// Fence is the moment at which a box would be forked that were made now.
func (e *Engine) Fence() time.Time { return e.core.FenceNow() }

// Provider is what boxes are isolated with.
func (e *Engine) Provider() string { return e.core.Provider.Name() }

// Passable is what of an environment may be recorded and given to boxes:
// credentials are taken out of it, but for those that allow names.
func (e *Engine) Passable(env, allow []string) []string {
	kept, _ := e.core.Secrets(env, allow)
	return kept
}

// FriendlyName is a name for something that its owner gave none. Where it is
// taken, the next attempt may have another.
func FriendlyName(attempt int) string { return core.FriendlyName(attempt) }
