package execs

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// StartInTurn starts a command of the owner's in a box that runs, for a caller who
// has the box's turn. No client waits for it.
func (m *Manager) StartInTurn(ctx context.Context, h *core.Handle, a *core.Attached, box forkbox.Box, req ExecRequest) (*core.Execution, error) {
	who := box.Owner
	if err := req.check(who); err != nil {
		return nil, err
	}
	policy, err := m.limits.ExecPolicy(box, who, req.Wish, req.Timeout)
	if err != nil {
		return nil, err
	}
	p := planned{a: a}
	if err := m.record(ctx, &p, &entry{box: box, h: h}, who, req, policy); err != nil {
		return nil, err
	}
	if err := m.run(context.WithoutCancel(ctx), p, who, forkbox.Stdio{}); err != nil {
		m.boxes.FinishExec(h, a, p.exec.ID, notStarted(err), nil)
		return nil, err
	}
	return p.x, nil
}

// Rouse has a box run that is at rest, and its services with it.
func (m *Manager) Rouse(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error) {
	const op = "start box"
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer end()
	in, err := m.enter(ctx, who, ref, forkbox.Wish{}, false)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer in.leave()
	_, err = m.boxes.Wake(ctx, in.h, &in.box)
	return in.box, err
}
