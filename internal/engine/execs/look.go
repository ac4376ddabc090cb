package execs

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Processes lists what runs in a box. In one at rest that is nothing.
func (m *Manager) Processes(ctx context.Context, who forkbox.Owner, ref string) ([]forkbox.Process, error) {
	ctx, end, err := m.core.Begin(ctx, "list processes")
	if err != nil {
		return nil, err
	}
	defer end()
	id, err := m.core.IDOf(ctx, who, ref)
	if err != nil {
		return nil, err
	}
	h := m.core.HandleOf(id)
	if h == nil {
		return nil, nil
	}
	a := h.Current()
	if a == nil || h.Ending(a) != nil {
		return nil, nil
	}
	ps, err := a.Instance.Processes(ctx)
	if err != nil && h.Ending(a) != nil {
		return nil, nil // it came to rest while it was asked
	}
	return ps, forkbox.Wrap("list processes", err)
}

// Occupied says whether anything runs in a box, beside what the box itself
// needs.
func (m *Manager) Occupied(ctx context.Context, who forkbox.Owner, ref string) (bool, error) {
	list, err := m.Processes(ctx, who, ref)
	return core.BeyondInit(list), err
}

// Logs yields the output of an exec; an empty id means the latest. With
// follow it goes on until the exec has ended.
func (m *Manager) Logs(ctx context.Context, who forkbox.Owner, ref, id string, follow bool, yield func(forkbox.LogRecord) error) error {
	ctx, end, err := m.core.Begin(ctx, "read log")
	if err != nil {
		return err
	}
	defer end()
	box, exec, err := m.findExec(ctx, who, ref, id)
	if err != nil {
		return err
	}
	ended := func() bool {
		_, _, x := m.boxes.LiveExec(box.ID, exec.ID)
		return x == nil
	}
	return forkbox.Wrap("read log", m.core.Logs.Read(ctx, box.ID, exec.ID, follow, ended, yield))
}
