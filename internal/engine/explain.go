package engine

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
)

// explaining is a provider that knows by what words programs complain of
// something that its boxes do not have.
type explaining interface {
	// Explain is what to tell whoever ran a command that failed with this output;
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
// wait does not read it, and then somebody who does shall. An exec that succeeded
// is not looked at: it is on the way of every command. Decision 33 says why by its
// words.
func (e *Engine) explain(h *handle, a *attached, id string, exit forkbox.Exit) {
	if exit.Cause != forkbox.CauseExited || exit.Code == 0 {
		return
	}
	provider, ok := e.provider.(explaining)
	logs, has := e.logs.(tailLogs)
	if !ok || !has {
		return
	}
	note := provider.Explain(logs.Tail(h.id, id, explainTail))
	if note == "" || explained(e.ctx, e.ledger, h.id, note) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	x, t := a.execs[id], tended.of(a)
	if x == nil || x.exec.Detached || slices.Contains(t.told, note) {
		return
	}
	t.told = append(t.told, note) // the ledger does not have it yet
	x.exec.Note = note
}

// explained says whether an earlier exec of the box has the note.
func explained(ctx context.Context, ledger forkbox.Ledger, box, note string) bool {
	earlier, err := ledger.Execs(context.WithoutCancel(ctx), box)
	return err == nil && slices.ContainsFunc(earlier, func(x forkbox.Exec) bool { return x.Note == note })
}
