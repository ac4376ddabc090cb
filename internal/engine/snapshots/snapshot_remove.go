package snapshots

import (
	"context"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/shelf"
)

// RemoveSnapshot forgets BOX@SNAPSHOT. While others lie over its layers it is
// refused, unless they are squashed: what they need of it becomes theirs.
func (m *Manager) RemoveSnapshot(ctx context.Context, who forkbox.Owner, ref string, squash bool) error {
	const op = "remove snapshot"
	name, snapshot, at := forkbox.SplitRef(ref)
	if !at || snapshot == "" {
		return forkbox.Errorf(forkbox.Invalid, op, "%q names no snapshot", ref).Hint("use BOX@SNAPSHOT")
	}
	if squash {
		if err := m.squash(ctx, who, name, snapshot); err != nil {
			return err
		}
	}
	_, err := m.core.Change(ctx, op, who, name, func(ctx context.Context, _ *core.Handle, box *forkbox.Box) error {
		s, err := m.findSnapshot(ctx, *box, snapshot)
		if err != nil {
			return err
		}
		if children, err := m.childrenOf(ctx, s); err != nil {
			return err
		} else if len(children) > 0 {
			return hasChildren(op, ref, children)
		}
		return m.forgetSnapshot(context.WithoutCancel(ctx), box, s)
	})
	return err
}

// forgetSnapshot removes a snapshot that nothing needs. The caller has its box's turn.
func (m *Manager) forgetSnapshot(ctx context.Context, box *forkbox.Box, s forkbox.Snapshot) error {
	if box.Saving != "" { // its layer may be the one that is about to go
		if err := m.shelf.ShelveTop(ctx, box); err != nil {
			return err
		}
		if err := m.core.Ledger.UpdateBox(ctx, *box); err != nil {
			return err
		}
	}
	if err := m.core.Ledger.DeleteSnapshot(ctx, s.ID, m.about(s, forkbox.EventSnapshotRemoved, s.Name)); err != nil {
		return err
	}
	m.shelf.SweepSoon()
	return nil
}

// childrenOf names the boxes and templates that were made of a snapshot and
// still lie over its layers.
func (m *Manager) childrenOf(ctx context.Context, s forkbox.Snapshot) (names []string, err error) {
	boxes, err := m.core.Ledger.Boxes(ctx, &s.Owner.UID)
	if err != nil {
		return nil, err
	}
	for _, b := range boxes {
		if b.Parent == s.ID && liesOver(b.Layers, s.Layers) {
			names = append(names, b.Name)
		}
	}
	templates, err := m.core.Ledger.Templates(ctx, &s.Owner.UID)
	for _, t := range templates {
		if t.Parent == s.ID && liesOver(t.Layers, s.Layers) {
			names = append(names, "template "+t.Name)
		}
	}
	return names, err
}

// liesOver says whether a stack needs the topmost layer of another.
func liesOver(stack, other []string) bool {
	return len(other) > 0 && slices.Contains(stack, other[0])
}

func hasChildren(op, ref string, children []string) error {
	const most = 5
	list := children
	if len(list) > most {
		list = append(slices.Clone(list[:most]), "others")
	}
	return forkbox.Errorf(forkbox.Busy, op, "it is needed by %s", strings.Join(list, ", ")).
		Hint("remove them first, or let them keep what they need of it: forkbox rm --squash %s", ref)
}

// squash has the children of a snapshot lie over a layer of their own that
// shows the same. It costs no space: files are shared.
func (m *Manager) squash(ctx context.Context, who forkbox.Owner, name, snapshot string) error {
	const op = "squash snapshot"
	p, err := m.core.Layers(op)
	if err != nil {
		return err
	}
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return err
	}
	defer end()
	box, err := m.core.Resolve(ctx, who, name)
	if err != nil {
		return err
	}
	s, err := m.findSnapshot(ctx, box, snapshot)
	if err != nil || len(s.Layers) == 0 {
		return err
	}
	if children, err := m.childrenOf(ctx, s); err != nil || len(children) == 0 {
		return err
	}
	layer := core.NewID()
	defer m.shelf.KeepLayers(append(slices.Clone(s.Layers), layer)...)()
	if err := m.core.Ledger.KnowLayers(ctx, layer); err != nil {
		return err
	}
	if err := p.Flatten(ctx, s.Layers, layer); err != nil {
		return err
	}
	return m.squashInto(ctx, who, s, layer)
}

// squashInto has the children of a snapshot, and theirs, lie over a layer
// instead of over the snapshot's.
func (m *Manager) squashInto(ctx context.Context, who forkbox.Owner, s forkbox.Snapshot, layer string) error {
	boxes, err := m.core.Ledger.Boxes(ctx, &who.UID)
	if err != nil {
		return err
	}
	for _, b := range boxes {
		if b.ID == s.Box { // its own snapshots are not its children
			continue
		}
		if err := m.squashOne(ctx, who, b.ID, s.Layers, layer); err != nil {
			return err
		}
	}
	_, err = m.shelf.ReplaceInTemplates(ctx, s.Layers, layer)
	return err
}

func (m *Manager) squashOne(ctx context.Context, who forkbox.Owner, id string, stack []string, layer string) error {
	_, err := m.core.Change(ctx, "squash snapshot", who, id, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if _, ok := shelf.Replaced(box.Layers, stack, layer); !ok {
			return nil
		}
		return m.boxes.BringToRest(ctx, "squash snapshot", h, box)
	})
	if err != nil && !core.IsNotFound(err) {
		return err
	}
	_, err = m.shelf.ReplaceIn(ctx, id, stack, layer)
	return err
}
