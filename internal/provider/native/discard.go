//go:build linux

package native

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/change"
)

// Discard puts paths of a box that does not run back to the base.
func (p *Provider) Discard(ctx context.Context, box forkbox.Box, changes []forkbox.Change) error {
	src, done, err := p.stacks.source(box)
	if err != nil {
		return err
	}
	defer done()
	return p.stacks.discard(ctx, src, box, changes)
}

// KeepLanded gives a box that does not run a copy of its own of what it landed,
// where changes were discarded.
func (p *Provider) KeepLanded(ctx context.Context, box forkbox.Box, changes []forkbox.Change, landed iter.Seq2[string, forkbox.Identity]) (map[string]forkbox.Identity, error) {
	src, done, err := p.stacks.source(box)
	if err != nil {
		return nil, err
	}
	defer done()
	bin, err := p.store.BinOf(box.ID)
	if err != nil {
		return nil, err
	}
	own, err := change.KeepLanded(ctx, src, changes, landed, bin)
	return own, errors.Join(err, p.store.EmptyBin(ctx, box.ID))
}

// PutBack has a box that does not run be as what it was forked from, where it
// made changes that are wanted. root is the root of that, where it is a snapshot
// that the box's layers lie over; "" where it is its base.
func (p *Provider) PutBack(ctx context.Context, box forkbox.Box, root string, wanted func(forkbox.Change) bool) error {
	src, done, err := p.stacks.source(box)
	if err != nil {
		return err
	}
	defer done()
	if root != "" {
		src.Base = root
	}
	changes, moved, err := toPutBack(ctx, src, wanted)
	if err == nil && len(moved) > 0 {
		changes, _, err = toPutBack(ctx, src, func(c forkbox.Change) bool { return wanted(c) || inPlace(c, moved) })
	}
	if err != nil || len(changes) == 0 {
		return err
	}
	return p.stacks.discard(ctx, src, box, changes)
}

// toPutBack are the changes that are wanted, and where directories were before
// they were moved.
func toPutBack(ctx context.Context, src change.Source, wanted func(forkbox.Change) bool) (changes []forkbox.Change, moved []string, err error) {
	err = change.Read(ctx, src, func(c forkbox.Change, _ forkbox.Sides) error {
		if !wanted(c) {
			return nil
		}
		changes = append(changes, c)
		if c.Kind == forkbox.Renamed {
			moved = append(moved, c.From)
		}
		return nil
	})
	return changes, moved, err
}

// inPlace says whether a change is where a directory was: it makes room when
// that is put back.
func inPlace(c forkbox.Change, moved []string) bool {
	return slices.ContainsFunc(moved, func(from string) bool { return forkbox.Within(c.Path, from) })
}

func (st *stacks) discard(ctx context.Context, src change.Source, box forkbox.Box, changes []forkbox.Change) error {
	if err := st.ownUppers(src, box); err != nil {
		return err
	}
	bin, err := st.store.BinOf(box.ID)
	if err != nil {
		return err
	}
	if err := change.Discard(ctx, src, changes, bin); err != nil {
		return err
	}
	return st.store.EmptyBin(ctx, box.ID)
}

// ownUppers gives a box something to write to on every filesystem that its
// layers are of: what they changed can be put back only by writing over it.
func (st *stacks) ownUppers(src change.Source, box forkbox.Box) error {
	for i, u := range src.Uppers {
		if u.Dir != "" {
			continue
		}
		dir, made, err := st.store.NewUpper(box.ID, u.Mount)
		if err == nil && made {
			err = st.likeBelow(dir, "", u.Layers)
		}
		if err != nil {
			return err
		}
		src.Uppers[i].Dir = dir
	}
	return nil
}
