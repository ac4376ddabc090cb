package landing

import (
	"context"
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/changes"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// restorer is a provider that can put what a box changed back to what it was
// forked from, be that a snapshot.
type restorer interface {
	PutBack(ctx context.Context, box forkbox.Box, root string, wanted func(forkbox.Change) bool) error
}

// PutBack has a box in which nothing runs be as what it was forked from, at the
// paths of the changes that are wanted: as its base, or as the snapshot that
// point names. Nothing is lost by that: it is for a box that will be rolled back.
func (m *Manager) PutBack(ctx context.Context, who forkbox.Owner, ref, point string, wanted func(forkbox.Change) bool) error {
	const op = "put changes back"
	provider, ok := m.core.Provider.(restorer)
	if !ok {
		return forkbox.Errorf(forkbox.Unsupported, op, "provider %s cannot", m.core.Provider.Name())
	}
	_, err := m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if err := core.Usable(op, *box); err != nil {
			return err
		}
		if err := m.boxes.BringToRest(ctx, op, h, box); err != nil {
			return err
		}
		if err := m.shelf.PrepareLayers(ctx, box); err != nil {
			return err
		}
		own, root, done, err := m.above(ctx, op, who, *box, point)
		if err != nil {
			return err
		}
		defer done()
		sorter := bases.NewSorter(m.bases.Workspace(box.Dir), *box)
		return provider.PutBack(context.WithoutCancel(ctx), own, root, func(c forkbox.Change) bool {
			c.Scope = sorter.Scope(c)
			return wanted(c)
		})
	})
	return err
}

// above is a box with only what lies over a snapshot, and where the root of that
// can be looked at until done is called. Both are the box's own without one.
func (m *Manager) above(ctx context.Context, op string, who forkbox.Owner, box forkbox.Box, point string) (own forkbox.Box, root string, done func(), err error) {
	if point == "" {
		return box, "", func() {}, nil
	}
	from, release, err := m.snapshots.HoldAt(ctx, op, who, point)
	if err != nil {
		return box, "", nil, err
	}
	own, stacked := changes.Over(box, from)
	if !stacked || !from.Bare {
		release()
		return box, "", nil, forkbox.Errorf(forkbox.Unsupported, op, "%s does not lie over what it was forked from any more", box.Name)
	}
	dir, closed, err := m.changes.OpenRoot(ctx, who, from)
	if err != nil {
		release()
		return box, "", nil, err
	}
	return own, fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), func() { closed(); release() }, nil
}
