package engine

import "github.com/forkbox/forkbox"

// trimmer is a [Logs] that can cut off what is more than init would have kept.
type trimmer interface {
	// Trim holds the logs of all execs of a box to a limit, and says how many
	// were over it.
	Trim(box string, limit int64) (cut int, err error)
}

// trimLogs holds the logs of a box to their limit. Init does, but root in a box
// can take the file that init writes to out of its hands and write on, also
// when the exec has ended.
func (e *Engine) trimLogs(h *handle, a *attached) {
	logs, ok := e.logs.(trimmer)
	if !ok {
		return
	}
	limit := e.logCap
	h.mu.Lock()
	for _, x := range a.execs {
		if v, has := x.exec.Policy.Of(forkbox.Kept); has {
			limit = max(limit, v)
		}
	}
	h.mu.Unlock()
	if v, has := h.policy(a).Of(forkbox.Kept); has {
		limit = max(limit, v)
	}
	if cut, err := logs.Trim(h.id, limit); cut > 0 || err != nil {
		e.log.Warn("logs were written to by others than init", "box", h.id, "cut", cut, "error", err)
	}
}
