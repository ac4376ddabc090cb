package forks

import (
	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// origin is what a box is made of, as is told of it.
type origin struct {
	what     string       // "reality", "template x", "try@2"
	parent   *forkbox.Box // of which it is a fork; nil where it is of none
	snapshot string       // of that one
}

// created are the events of a box that is ready: its own, and that of the box it
// was forked from.
func (m *Manager) created(box forkbox.Box, from origin) []forkbox.Event {
	by := core.ByUser(box.Owner)
	told := []forkbox.Event{core.With(m.core.About(box, forkbox.EventBoxCreated, "a fork of "+from.what), forkbox.EventData{From: from.what, By: by})}
	if from.parent == nil {
		return told
	}
	forked := m.core.About(*from.parent, forkbox.EventBoxForked, "into "+box.Name)
	forked.Snapshot = from.snapshot
	return append(told, core.With(forked, forkbox.EventData{To: box.ID, By: by}))
}
