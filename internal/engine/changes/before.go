package changes

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/review"
)

// before is a provider that remembers what imported changes were made to.
type before interface {
	Before(box forkbox.Box) ([]forkbox.BaseSum, error)
}

// maxSums bounds what an archive says of its base: it is part of the image's
// configuration, which registries and readers bound as well. What is left out
// is not known where it is imported, and so a conflict.
const maxSums = 2 << 20

// BaseSums says what reality has where a snapshot differs, as long as that is
// still what the box was forked from: the host that imports it can tell whether the
// change fits there.
func (m *Manager) BaseSums(ctx context.Context, box forkbox.Box, s forkbox.Snapshot) ([]forkbox.BaseSum, error) {
	if !s.Base.IsReality() {
		return nil, nil
	}
	box.Bare, box.Layers, box.Base, box.At, box.Unresolved = true, s.Layers, s.Base, s.ID, s.Unresolved
	view, err := m.View(ctx, box)
	if err != nil {
		return nil, err
	}
	var all []forkbox.BaseSum
	room := maxSums
	chosen := review.Choose(forkbox.Selection{All: true}, nil, bases.NewSorter(view.Root, box))
	err = view.EachWith(ctx, chosen, func(x *review.Entry) error {
		// Without a sum it is a conflict where it is imported, as it is here.
		if open, err := view.Undecided(ctx, x); open || err != nil {
			return err
		}
		return view.Before(x, func(b forkbox.BaseSum, n forkbox.Node) {
			if !mayRead(n, box.Owner) || !utf8.ValidString(b.Path) {
				return
			}
			if room -= len(b.Path) + 120; room > 0 {
				all = append(all, b)
			}
		})
	})
	return all, err
}

// mayRead says whether a file's sum tells its reader nothing new.
func mayRead(n forkbox.Node, who forkbox.Owner) bool {
	perm := n.Mode.Perm()
	switch {
	case who.UID == 0 || !n.Mode.IsRegular():
		return true
	case n.UID == who.UID:
		return perm&0o400 != 0
	case n.GID == who.GID || slices.Contains(who.Groups, n.GID):
		return perm&0o040 != 0
	}
	return perm&0o004 != 0
}

// recall has a view of an imported box know what its changes were made to.
func (m *Manager) recall(v *review.View) error {
	p, ok := m.core.Provider.(before)
	if !ok || !v.Box.Base.IsReality() || !v.Box.Base.Fence.Equal(forkbox.NeverFenced) {
		return nil
	}
	list, err := p.Before(v.Box)
	if err != nil || len(list) == 0 {
		return err
	}
	v.Known = make(map[string]forkbox.BaseSum, len(list))
	for _, b := range list {
		v.Known[b.Path] = b
	}
	return nil
}
