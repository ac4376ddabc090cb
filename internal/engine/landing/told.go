package landing

import (
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// about is an event of a receipt.
func (m *Manager) about(r forkbox.Receipt, kind forkbox.EventKind, text string) forkbox.Event {
	e := forkbox.Event{Kind: kind, Box: r.Box, Name: r.BoxName, Receipt: r.ID, UID: r.Owner.UID, Time: m.core.Now(), Text: text}
	return core.With(e, forkbox.EventData{By: core.ByUser(r.Owner), Count: r.Paths, Bytes: r.Bytes})
}

func (m *Manager) applied(r forkbox.Receipt) forkbox.Event {
	return m.about(r, forkbox.EventReceiptApplied, fmt.Sprintf("%d paths landed", r.Paths))
}

func (m *Manager) failed(r forkbox.Receipt, why string) forkbox.Event {
	return m.about(r, forkbox.EventReceiptFailed, why)
}

// settled is the event of a receipt that was decided after an interruption.
func (m *Manager) settled(r forkbox.Receipt) forkbox.Event {
	switch r.State {
	case forkbox.Applied:
		return m.applied(r)
	case forkbox.Undone:
		return m.about(r, forkbox.EventReceiptUndone, core.OrElse(r.Note, "it was taken back"))
	}
	return m.failed(r, r.Note)
}
