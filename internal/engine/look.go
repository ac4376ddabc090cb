package engine

import (
	"context"

	"github.com/forkbox/forkbox"
)

// Processes lists what runs in a box. In one at rest that is nothing.
func (e *Engine) Processes(ctx context.Context, who forkbox.Owner, ref string) ([]forkbox.Process, error) {
	ctx, end, err := e.begin(ctx, "list processes")
	if err != nil {
		return nil, err
	}
	defer end()
	id, err := e.idOf(ctx, who, ref)
	if err != nil {
		return nil, err
	}
	h := e.handle(id)
	if h == nil {
		return nil, nil
	}
	a := h.current()
	if a == nil || h.ending(a) != nil {
		return nil, nil
	}
	ps, err := a.instance.Processes(ctx)
	if err != nil && h.ending(a) != nil {
		return nil, nil // it came to rest while it was asked
	}
	return ps, forkbox.Wrap("list processes", err)
}

// Occupied says whether anything runs in a box, beside what the box itself
// needs.
func (e *Engine) Occupied(ctx context.Context, who forkbox.Owner, ref string) (bool, error) {
	list, err := e.Processes(ctx, who, ref)
	return beyondInit(list), err
}

// Logs yields the output of an exec; an empty id means the latest. With
// follow it goes on until the exec has ended.
func (e *Engine) Logs(ctx context.Context, who forkbox.Owner, ref, id string, follow bool, yield func(forkbox.LogRecord) error) error {
	ctx, end, err := e.begin(ctx, "read log")
	if err != nil {
		return err
	}
	defer end()
	box, exec, err := e.findExec(ctx, who, ref, id)
	if err != nil {
		return err
	}
	ended := func() bool {
		_, _, x := e.live(box.ID, exec.ID)
		return x == nil
	}
	return forkbox.Wrap("read log", e.logs.Read(ctx, box.ID, exec.ID, follow, ended, yield))
}
