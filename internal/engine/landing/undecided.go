package landing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// Unsettle makes those paths undecided again that were so until an apply landed
// them, which is about to be undone. It says which.
func (m *Manager) Unsettle(ctx context.Context, r forkbox.Receipt) ([]string, error) {
	paths, err := m.landedOpen(r)
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	err = m.setUndecided(ctx, r.Box, func(list []string) []string {
		paths = pathsWithout(paths, list)
		return slices.Concat(list, paths)
	})
	return paths, err
}

// settleAgain takes that back where the undo did not happen.
func (m *Manager) settleAgain(ctx context.Context, r forkbox.Receipt, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	return m.setUndecided(ctx, r.Box, func(list []string) []string { return pathsWithout(list, paths) })
}

// landedOpen are the paths that a sync had left undecided when they landed.
func (m *Manager) landedOpen(r forkbox.Receipt) (paths []string, err error) {
	err = land.Entries(filepath.Join(m.core.Receipts, r.ID), func(x land.Entry) error {
		if !bytes.Contains(x.Tag, []byte(`"open"`)) {
			return nil // most are not: there may be millions
		}
		var tag review.Tag
		err := json.Unmarshal(x.Tag, &tag)
		if tag.Open {
			paths = append(paths, x.Path)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, forkbox.Wrap("read receipt "+r.ID, err)
	}
	return slices.Compact(paths), nil
}

// setUndecided changes what a box has undecided, in its turn. One that is gone
// has nothing.
func (m *Manager) setUndecided(ctx context.Context, id string, change func([]string) []string) error {
	_, unlock, err := m.core.Lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	box, err := m.core.Ledger.Box(ctx, id)
	if core.IsNotFound(err) {
		return nil
	}
	if err == nil {
		box.Unresolved = change(box.Unresolved)
		err = m.core.Ledger.UpdateBox(ctx, box)
	}
	return err
}
