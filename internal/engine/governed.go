package engine

import (
	"github.com/forkbox/forkbox"
)

// govern takes over what the record says now, and has whoever looks after the
// box look at once.
func (h *handle) govern(a *attached, box forkbox.Box) {
	h.mu.Lock()
	a.known = box
	a.known.Env = nil
	h.mu.Unlock()
	select {
	case a.poke <- struct{}{}:
	default:
	}
}

// box is the record of the box as it was last taken over.
func (h *handle) box(a *attached) forkbox.Box {
	h.mu.Lock()
	defer h.mu.Unlock()
	return a.known
}

func (h *handle) policy(a *attached) forkbox.Policy { return h.box(a).Policy }
func (h *handle) pausedWhy(a *attached) string      { return h.box(a).Paused }

// ending is why the engine ends the instance, nil when it does not.
func (h *handle) ending(a *attached) *ending {
	h.mu.Lock()
	defer h.mu.Unlock()
	return a.ending
}

func (h *handle) setEnding(a *attached, why *ending, atOnce bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.ending, a.atOnce = why, atOnce
}
