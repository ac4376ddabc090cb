package landing

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/review"
)

// discarder is a provider that can put paths of a box back to the base.
type discarder interface {
	// Discard puts back what the changes are about. The box does not run.
	Discard(ctx context.Context, box forkbox.Box, changes []forkbox.Change) error
	// KeepLanded gives the box a copy of its own of what it landed and shows as
	// reality has it since the changes were discarded, and says what that is.
	// A zero identity is for nothing. The box does not run.
	KeepLanded(ctx context.Context, box forkbox.Box, changes []forkbox.Change, landed iter.Seq2[string, forkbox.Identity]) (map[string]forkbox.Identity, error)
}

// Discard puts paths of a box back to the base, and says which.
func (m *Manager) Discard(ctx context.Context, who forkbox.Owner, ref string, sel forkbox.Selection) ([]string, error) {
	const op = "discard changes"
	provider, ok := m.core.Provider.(discarder)
	switch {
	case !ok:
		return nil, forkbox.Errorf(forkbox.Unsupported, op, "provider %s cannot", m.core.Provider.Name())
	case len(sel.Paths) == 0 && !sel.All:
		return nil, forkbox.Errorf(forkbox.Invalid, op, "no path was named").
			Hint("name paths, or --all for everything the box changed")
	}
	if err := sel.Check(op); err != nil {
		return nil, err
	}
	var paths []string
	_, err := m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if err := m.boxes.SettleSync(ctx, h, box); err != nil {
			return err
		}
		changes, err := m.toDiscard(ctx, op, *box, sel)
		if err != nil || len(changes) == 0 {
			return err
		}
		if err := m.boxes.BringToRest(ctx, op, h, box); err != nil {
			return err
		}
		ctx = context.WithoutCancel(ctx)
		if err := m.shelf.PrepareLayers(ctx, box); err != nil {
			return err
		}
		if err := provider.Discard(ctx, *box, changes); err != nil {
			return err
		}
		if err := m.keepLanded(ctx, provider, *box, changes); err != nil {
			return err
		}
		box.Discarded = true
		for _, c := range changes {
			paths = append(paths, c.Path)
		}
		told := m.core.About(*box, forkbox.EventBoxDiscarded, fmt.Sprintf("%d paths were put back", len(paths)))
		return m.forgetDecided(ctx, box, paths, core.With(told, forkbox.EventData{By: core.ByUser(who), Count: len(paths)}))
	})
	return paths, err
}

// forgetDecided forgets that a sync left paths undecided: they are as in the base.
func (m *Manager) forgetDecided(ctx context.Context, box *forkbox.Box, paths []string, told forkbox.Event) error {
	box.Unresolved = pathsWithout(box.Unresolved, paths)
	return m.core.Ledger.UpdateBox(ctx, *box, told)
}

// pathsWithout is a list of paths but for some of them. Both may be long.
func pathsWithout(list, some []string) []string {
	if len(list) == 0 {
		return list
	}
	some = slices.Sorted(slices.Values(some))
	return slices.DeleteFunc(slices.Clone(list), func(p string) bool {
		_, found := slices.BinarySearch(some, p)
		return found
	})
}

func (m *Manager) toDiscard(ctx context.Context, op string, box forkbox.Box, sel forkbox.Selection) (changes []forkbox.Change, err error) {
	if err := core.Usable(op, box); err != nil {
		return nil, err
	}
	view, err := m.changes.View(ctx, box)
	if err != nil {
		return nil, err
	}
	view.Marks = nil // what has landed is discarded, too
	sel.All = sel.All || len(sel.Paths) > 0
	chosen := review.Choose(sel, nil, bases.NewSorter(view.Root, box))
	err = view.Each(ctx, chosen, func(x *review.Entry) error {
		changes = append(changes, x.Change)
		return nil
	})
	if err == nil {
		err = chosen.Unmet(op)
	}
	return changes, err
}
