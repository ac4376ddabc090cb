package limits

import (
	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// trimmer is a [Logs] that can cut off what is more than init would have kept.
type trimmer interface {
	// Trim holds the logs of all execs of a box to a limit, and says how many
	// were over it.
	Trim(box string, limit int64) (cut int, err error)
}

// TrimLogs holds the logs of a box to their limit. Init does, but root in a box
// can take the file that init writes to out of its hands and write on, also
// when the exec has ended.
func (m *Manager) TrimLogs(h *core.Handle, a *core.Attached) {
	logs, ok := m.core.Logs.(trimmer)
	if !ok {
		return
	}
	limit := m.logCap
	h.Mu.Lock()
	for _, x := range a.Execs {
		if v, has := x.Exec.Policy.Of(forkbox.Kept); has {
			limit = max(limit, v)
		}
	}
	h.Mu.Unlock()
	if v, has := h.Policy(a).Of(forkbox.Kept); has {
		limit = max(limit, v)
	}
	if cut, err := logs.Trim(h.ID, limit); cut > 0 || err != nil {
		m.core.Log.Warn("logs were written to by others than init", "box", h.ID, "cut", cut, "error", err)
	}
}
