package snapshots

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/shelf"
)

// Snapshot keeps a box as it is. Processes in it go on; one in which nothing
// runs comes to rest.
func (m *Manager) Snapshot(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.SnapshotSpec) (forkbox.Snapshot, error) {
	const op = "make snapshot"
	if err := checkSnapshotName(spec.Name); err != nil {
		return forkbox.Snapshot{}, err
	}
	var s forkbox.Snapshot
	_, err := m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) (err error) {
		s, err = m.snapshot(ctx, h, box, spec, "")
		return err
	})
	return s, err
}

// Snapshots lists those of a box, oldest first.
func (m *Manager) Snapshots(ctx context.Context, who forkbox.Owner, ref string) ([]forkbox.Snapshot, error) {
	ctx, end, err := m.core.Begin(ctx, "list snapshots")
	if err != nil {
		return nil, err
	}
	defer end()
	box, err := m.core.Resolve(ctx, who, ref)
	if err != nil {
		return nil, err
	}
	return m.core.Ledger.Snapshots(ctx, box.ID)
}

// snapshot makes one. One that its owner did not ask for has a prefix to its
// number. The caller has the box's turn.
func (m *Manager) snapshot(ctx context.Context, h *core.Handle, box *forkbox.Box, spec forkbox.SnapshotSpec, prefix string) (forkbox.Snapshot, error) {
	const op = "make snapshot"
	p, err := m.core.Layers(op)
	if err != nil {
		return forkbox.Snapshot{}, err
	}
	if err := core.Usable(op, *box); err != nil {
		return forkbox.Snapshot{}, err
	}
	s, err := m.newSnapshot(ctx, *box, spec, prefix)
	if err != nil {
		return s, err
	}
	err = m.SettleAtRest(ctx, op, h, box)
	// What has begun is finished: half a snapshot is of no use.
	ctx = context.WithoutCancel(ctx)
	switch {
	case forkbox.CodeOf(err) == forkbox.Busy && h.Current() != nil:
		return m.snapshotRunning(ctx, p, h, box, s)
	case err != nil:
		return s, err
	}
	if s, err = m.snapshotStill(ctx, p, h, box, s); err != nil {
		return s, err
	}
	m.shelf.FlattenSoon(*box)
	if s.Auto {
		m.forgetOldest(s)
	}
	if box.Pinned { // its owner wants it running
		_, err = m.boxes.Wake(ctx, h, box)
	}
	return s, err
}

// snapshotStill is of a box at rest: in the usual store what it wrote becomes
// a layer by a rename, whatever its size.
func (m *Manager) snapshotStill(ctx context.Context, p core.Layered, h *core.Handle, box *forkbox.Box, s forkbox.Snapshot) (forkbox.Snapshot, error) {
	blank, err := p.Blank(ctx, *box)
	if err != nil {
		return s, err
	}
	if blank {
		return s, m.addSnapshot(ctx, h, box, s)
	}
	layer := core.NewID()
	s.Layers = shelf.Prepend(layer, box.Layers)
	if p.Stacks() {
		after := *box
		after.Layers, after.Saving, after.At = s.Layers, layer, s.ID
		return s, m.shelve(ctx, p, h, box, after, s)
	}
	return s, m.addCopied(ctx, h, box, &s, func() error { return p.Copy(ctx, *box, layer) })
}

// snapshotRunning is of a box in which processes run. It goes on with what it
// has.
func (m *Manager) snapshotRunning(ctx context.Context, p core.Layered, h *core.Handle, box *forkbox.Box, s forkbox.Snapshot) (forkbox.Snapshot, error) {
	a, layer := h.Current(), core.NewID()
	s.Layers = shelf.Prepend(layer, box.Layers)
	err := m.addCopied(ctx, h, box, &s, func() (err error) {
		s.Paused, err = p.CopyRunning(ctx, *box, a.Instance, layer)
		m.limits.PauseAgain(ctx, a, *box) // to copy it, it was frozen and let go on
		return err
	})
	return s, err
}

// addCopied records a snapshot whose topmost layer copy makes. One that cannot
// be recorded goes again.
func (m *Manager) addCopied(ctx context.Context, h *core.Handle, box *forkbox.Box, s *forkbox.Snapshot, copy func() error) error {
	release := m.shelf.KeepLayers(s.Layers[0])
	err := m.core.Ledger.KnowLayers(ctx, s.Layers[0])
	if err == nil {
		err = copy()
	}
	if err == nil {
		err = m.addSnapshot(ctx, h, box, *s)
	}
	release()
	if err != nil {
		m.shelf.SweepSoon()
	}
	return err
}

// addSnapshot records a snapshot that exists.
func (m *Manager) addSnapshot(ctx context.Context, h *core.Handle, box *forkbox.Box, s forkbox.Snapshot) error {
	after := *box
	after.At = s.ID
	if err := m.core.Ledger.AddSnapshot(ctx, s, after, append(h.TakeUntold(), m.about(s, forkbox.EventSnapshotMade, s.Name))...); err != nil {
		return err
	}
	*box = after
	return nil
}

// about is an event of a snapshot.
func (m *Manager) about(s forkbox.Snapshot, kind forkbox.EventKind, text string) forkbox.Event {
	e := forkbox.Event{Kind: kind, Box: s.Box, Name: s.BoxName, Snapshot: s.ID, UID: s.Owner.UID, Time: m.core.Now(), Text: text}
	if s.Auto {
		e.Data = &forkbox.EventData{By: core.ByForkbox}
	}
	return e
}

// shelve records a snapshot and what its box is after, and has what the box
// wrote become the layer after.Saving. The record comes first and says what is
// to be done, so that after a crash it is done.
func (m *Manager) shelve(ctx context.Context, p core.Layered, h *core.Handle, box *forkbox.Box, after forkbox.Box, s forkbox.Snapshot, tell ...forkbox.Event) error {
	after.Shelved++
	tell = slices.Concat(h.TakeUntold(), []forkbox.Event{m.about(s, forkbox.EventSnapshotMade, s.Name)}, tell)
	if err := m.core.Ledger.AddSnapshot(ctx, s, after, tell...); err != nil {
		return err
	}
	if err := p.Shelve(ctx, after, after.Saving); err != nil {
		return m.takeBack(ctx, *box, s, err)
	}
	*box = after // that it is done is written with what happens to the box next
	return nil
}

// takeBack forgets a snapshot that could not be made.
func (m *Manager) takeBack(ctx context.Context, was forkbox.Box, s forkbox.Snapshot, cause error) error {
	if err := m.core.Ledger.TakeBack(ctx, s.ID, was, m.about(s, forkbox.EventSnapshotRemoved, "it could not be made: "+cause.Error())); err != nil {
		return fmt.Errorf("%w (and %w)", cause, err)
	}
	return cause
}

// newSnapshot is one of a box as it is, not recorded yet. Without a name it
// gets a number; prefix goes before it.
func (m *Manager) newSnapshot(ctx context.Context, box forkbox.Box, spec forkbox.SnapshotSpec, prefix string) (forkbox.Snapshot, error) {
	s := forkbox.Snapshot{
		ID: core.NewID(), Box: box.ID, BoxName: box.Name, Owner: box.Owner,
		Name: spec.Name, Message: spec.Message, Created: m.core.Now(),
		Auto: prefix != "", Layers: slices.Clone(box.Layers), Base: box.Base,
		Unresolved: box.Unresolved, Parent: box.At,
	}
	names, err := m.core.Ledger.SnapshotNames(ctx, box.ID)
	switch {
	case err != nil:
		return s, err
	case slices.Contains(names, s.Name): // before anything is frozen and copied
		return s, forkbox.Errorf(forkbox.Exists, "make snapshot", "%s has a snapshot %q already", box.Name, s.Name).
			Hint("choose another name, or remove that one: forkbox rm %s@%s", box.Name, s.Name)
	case s.Name != "":
		return s, nil
	}
	s.Name = prefix + strconv.Itoa(highest(names, prefix)+1)
	return s, err
}

// highest is the largest number among the names.
func highest(names []string, prefix string) (most int) {
	for _, name := range names {
		if text, ok := strings.CutPrefix(name, prefix); ok {
			if n, err := strconv.Atoi(text); err == nil && len(text) < 10 {
				most = max(most, n)
			}
		}
	}
	return most
}

const autoPrefix = "auto-"

const snapshotNameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// checkSnapshotName refuses what could be taken for something else.
func checkSnapshotName(name string) error {
	const op = "name snapshot"
	switch {
	case name == "":
		return nil
	case len(name) > 63 || strings.Trim(name, snapshotNameBytes) != "" || name[0] == '-' || name[0] == '.':
		return forkbox.Errorf(forkbox.Invalid, op, "%q is not a name for a snapshot", name).
			Hint("use up to 63 letters, digits, dots, dashes and underscores, a letter or digit first")
	case strings.HasPrefix(name, autoPrefix):
		return forkbox.Errorf(forkbox.Invalid, op, "names that begin with %s are for what rollbacks keep", autoPrefix).
			Hint("choose another name")
	}
	return nil
}

// findSnapshot is one of a box by its name or id; without either, the last
// that no rollback made.
func (m *Manager) findSnapshot(ctx context.Context, box forkbox.Box, name string) (forkbox.Snapshot, error) {
	const op = "find snapshot"
	s, err := m.core.Ledger.Snapshot(ctx, box.ID, name)
	if !core.IsNotFound(err) {
		return s, err
	}
	if name == "" {
		return forkbox.Snapshot{}, forkbox.Errorf(forkbox.NotFound, op, "%s has no snapshot", box.Name).
			Hint("make one: forkbox snapshot %s", box.Name)
	}
	return forkbox.Snapshot{}, forkbox.Errorf(forkbox.NotFound, op, "%s has no snapshot %q", box.Name, name).
		Hint("forkbox snapshots %s lists them", box.Name)
}
