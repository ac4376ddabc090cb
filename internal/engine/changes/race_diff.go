package changes

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/storage/change"
)

// DiffSince is a Diff against the snapshot that a box was forked from, or where
// that is none against reality. Where the box did nothing neither is looked at,
// and the snapshot may be large.
func (m *Manager) DiffSince(ctx context.Context, who forkbox.Owner, ref, point string, spec forkbox.DiffSpec, yield func(forkbox.Change) error) (sum forkbox.Summary, err error) {
	const op = "read changes"
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return sum, err
	}
	defer end()
	box, release, err := m.snapshots.HoldAt(ctx, op, who, ref)
	if err != nil {
		return sum, err
	}
	defer release()
	own, stacked, from := box, box.Base.IsReality(), forkbox.Box{}
	if point != "" {
		if from, release, err = m.snapshots.HoldAt(ctx, op, who, point); err != nil {
			return sum, err
		}
		defer release()
		own, stacked = Over(box, from)
	}
	if stacked {
		if same, err := m.untouched(ctx, own); err != nil || same {
			return sum, err
		}
	}
	view, err := m.View(ctx, box)
	if err == nil && point != "" {
		err = m.since(who, box, from, view)
	}
	if err != nil {
		return sum, err
	}
	spec.Against = point
	err = m.diff(ctx, view, spec, yield)
	return view.Summary, forkbox.Wrap(op, err)
}

// since has a view compare a box with what it was forked from. Where it lies
// over that, only what it wrote itself is gone through.
func (m *Manager) since(who forkbox.Owner, box, from forkbox.Box, view *review.View) error {
	p, ok := m.core.Provider.(interface {
		Written(ctx context.Context, box forkbox.Box) (*change.Paths, error)
	})
	own, stacked := Over(box, from)
	if !ok || !stacked {
		return m.against(who, box, from, view)
	}
	return m.compared(who, box, from, view, func(ctx context.Context) (*change.Paths, error) { return p.Written(ctx, own) })
}

// Over is a box with only what lies over a snapshot, if it still does: layers
// may have been made into one since.
func Over(box, from forkbox.Box) (own forkbox.Box, stacked bool) {
	own = box
	n := len(box.Layers) - len(from.Layers)
	if n < 0 || !box.Base.IsReality() || !slices.Equal(box.Layers[n:], from.Layers) || !box.Base.Fence.Equal(from.Base.Fence) {
		return own, false
	}
	own.Layers = box.Layers[:n]
	return own, true
}

// untouched says whether a box has nothing of its own.
func (m *Manager) untouched(ctx context.Context, own forkbox.Box) (bool, error) {
	if len(own.Layers) > 0 || own.Bare {
		return len(own.Layers) == 0, nil
	}
	p, ok := m.core.Provider.(core.Layered)
	if !ok {
		return false, nil
	}
	return p.Blank(ctx, own)
}
