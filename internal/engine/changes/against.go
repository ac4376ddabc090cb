package changes

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/shelf"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/storage/change"
)

// against has a view show how a box differs from another one instead of from
// reality. Both are looked at through their own mounts, at the paths that
// either of them changed.
func (m *Manager) against(who forkbox.Owner, box, other forkbox.Box, view *review.View) error {
	return m.compared(who, box, other, view, func(ctx context.Context) (*change.Paths, error) {
		return m.changedPaths(ctx, box, other)
	})
}

// compared does so at the places where they can differ.
func (m *Manager) compared(who forkbox.Owner, box, other forkbox.Box, view *review.View, places func(context.Context) (*change.Paths, error)) error {
	if box.Base.Root != other.Base.Root {
		return forkbox.Errorf(forkbox.Invalid, "compare boxes", "%s and %s have different bases", box.Name, other.Name).
			Hint("boxes can be compared that were forked from the same")
	}
	view.Marks, view.Ancestors, view.Still = nil, nil, true
	view.Changes = func(ctx context.Context, yield func(forkbox.Change, forkbox.Sides) error) error {
		if viewKey(box) == viewKey(other) {
			return nil
		}
		paths, err := places(ctx)
		if err != nil {
			return err
		}
		return m.withRoots(ctx, who, []forkbox.Box{other, box}, func(roots map[string]*os.File) error {
			return change.Between(ctx, change.Trees{
				Old: roots[viewKey(other)], New: roots[viewKey(box)], Paths: paths.All(), Since: earlier(box, other),
				Reader: told(box),
			}, yield)
		})
	}
	return nil
}

// told is who sees what was compared, where that is not all that the daemon may
// read.
func told(box forkbox.Box) *forkbox.Owner {
	if review.Rootless() {
		return nil
	}
	return &box.Owner
}

// changedPaths is where two boxes can differ.
func (m *Manager) changedPaths(ctx context.Context, boxes ...forkbox.Box) (*change.Paths, error) {
	var paths change.Paths
	for _, box := range boxes {
		paths.Next()
		err := m.core.Provider.Changes(ctx, box, func(c forkbox.Change, _ forkbox.Sides) error {
			deep := c.Kind == forkbox.Deleted || c.Kind == forkbox.Renamed || c.Kind == forkbox.Type
			paths.Add(change.Path{Name: c.Path, Deep: deep})
			if c.From != "" {
				paths.AddAside(change.Path{Name: c.From, Deep: true})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return &paths, nil
}

// earlier is the fence of the box that was forked first.
func earlier(a, b forkbox.Box) time.Time {
	if b.Base.Fence.Before(a.Base.Fence) {
		return b.Base.Fence
	}
	return a.Base.Fence
}

// viewKey tells apart what can be looked at: boxes, and snapshots by what they
// consist of.
func viewKey(box forkbox.Box) string {
	if box.Bare {
		return "@" + shelf.StackKey(box.Layers)
	}
	return box.ID
}

// withRoots wakes boxes and keeps them awake while do looks at their files.
// Snapshots are shown without waking anything.
func (m *Manager) withRoots(ctx context.Context, who forkbox.Owner, boxes []forkbox.Box, do func(roots map[string]*os.File) error) error {
	roots := map[string]*os.File{}
	// Two that want the same boxes do not wait for each other.
	slices.SortFunc(boxes, func(a, b forkbox.Box) int { return strings.Compare(viewKey(a), viewKey(b)) })
	for _, box := range boxes {
		root, done, err := m.OpenRoot(ctx, who, box)
		if err != nil {
			return err
		}
		defer done()
		roots[viewKey(box)] = root
	}
	return do(roots)
}

// OpenRoot shows the files of a box, which is awake until done is called, or of a
// snapshot.
func (m *Manager) OpenRoot(ctx context.Context, who forkbox.Owner, box forkbox.Box) (root *os.File, done func(), err error) {
	if box.Bare {
		p, err := m.core.Layers("compare boxes")
		if err != nil {
			return nil, nil, err
		}
		return p.Look(ctx, box)
	}
	box, h, unlock, err := m.core.Take(ctx, who, box.ID)
	if err != nil {
		return nil, nil, err
	}
	a, err := m.boxes.Wake(ctx, h, &box)
	if err == nil {
		root, err = a.Instance.Root()
	}
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return root, func() { root.Close(); unlock() }, nil
}
