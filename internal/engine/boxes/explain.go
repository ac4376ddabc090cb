package boxes

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// explaining is a provider that knows by what words programs complain of
// something that its boxes do not have.
type explaining interface {
	// Explain is what to tell the caller who ran a command that failed with this output;
	// nothing as a rule.
	Explain(output []byte) (note string)
}

// tailLogs is a [Logs] that can be looked at from its end.
type tailLogs interface {
	Tail(box, exec string, size int64) []byte
}

// explainTail is how much of the output of a failed command is looked at: what
// it died of is at the end.
const explainTail = 16 << 10

// explain notes with an exec that failed why that may be. A caller who does not
// wait does not read it, and then a later one who does shall. An exec that succeeded
// is not looked at: it is on the way of every command. Decision 33 says why by its
// words.
func (m *Manager) explain(h *core.Handle, a *core.Attached, id string, exit forkbox.Exit) {
	if exit.Cause != forkbox.CauseExited || exit.Code == 0 {
		return
	}
	provider, ok := m.core.Provider.(explaining)
	logs, has := m.core.Logs.(tailLogs)
	if !ok || !has {
		return
	}
	note := provider.Explain(logs.Tail(h.ID, id, explainTail))
	if note == "" || explained(m.core.Ctx, m.core.Ledger, h.ID, note) {
		return
	}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	x, t := a.Execs[id], tended.Of(a)
	if x == nil || x.Exec.Detached || slices.Contains(t.told, note) {
		return
	}
	t.told = append(t.told, note) // the ledger does not have it yet
	x.Exec.Note = note
}

// explained says whether an earlier exec of the box has the note.
func explained(ctx context.Context, ledger forkbox.Ledger, box, note string) bool {
	earlier, err := ledger.Execs(context.WithoutCancel(ctx), box)
	return err == nil && slices.ContainsFunc(earlier, func(x forkbox.Exec) bool { return x.Note == note })
}
