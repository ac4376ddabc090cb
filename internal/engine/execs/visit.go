package execs

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
)

// Visit wakes a box to do something in it that is no command, and keeps it awake
// until leave is called.
func (m *Manager) Visit(ctx context.Context, op string, who forkbox.Owner, ref string) (box forkbox.Box, a *core.Attached, leave func(), err error) {
	defer func() { err = core.NameBox(err, ref) }()
	in, err := m.enter(ctx, who, ref, forkbox.Wish{}, false)
	if err != nil {
		return box, nil, nil, err
	}
	defer in.leave()
	if a, err = m.boxes.Wake(ctx, in.h, &in.box); err != nil {
		return box, nil, nil, err
	}
	if err := limits.NotPaused(op, in.box); err != nil {
		return box, nil, nil, err
	}
	h := in.h
	h.Mu.Lock()
	defer h.Mu.Unlock()
	a.Visits++
	return in.box, a, func() { m.boxes.Left(h, a, func() { a.Visits-- }) }, nil
}
