package snapshots

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/shelf"
)

// autoKept is how many snapshots that rollbacks made a box keeps, and
// otherKept how many of those that forks, templates and exports made each.
const (
	autoKept  = 10
	otherKept = 1
)

// Rollback has a box be again as a snapshot of it. What it was is kept as a
// snapshot, so that a rollback can be rolled back.
func (m *Manager) Rollback(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.RollbackSpec) (r forkbox.Rollback, err error) {
	const op = "roll back"
	p, err := m.core.Layers(op)
	if err != nil {
		return r, err
	}
	r.Box, err = m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if r.To, err = m.findSnapshot(ctx, *box, spec.To); err != nil {
			return err
		}
		if err := m.stillFor(ctx, op, h, box, spec.Force); err != nil {
			return err
		}
		ctx = context.WithoutCancel(ctx)
		if r.Kept, err = m.rollback(ctx, p, h, box, r.To); err != nil {
			return err
		}
		m.forgetOldest(r.Kept)
		if err := m.shelf.AdaptToOwnLandings(ctx, box); err != nil {
			return err
		}
		if box.Pinned {
			_, err = m.boxes.Wake(ctx, h, box)
		}
		return err
	})
	return r, err
}

// stillFor brings a box to rest. What runs in it ends only if force says so.
func (m *Manager) stillFor(ctx context.Context, op string, h *core.Handle, box *forkbox.Box, force bool) error {
	err := m.SettleAtRest(ctx, op, h, box)
	a := h.Current()
	if forkbox.CodeOf(err) != forkbox.Busy || a == nil {
		return err
	}
	if !force {
		return forkbox.Errorf(forkbox.Busy, op, "processes are running in %s, and they would end", box.Name).
			Hint("end them and go on: --force").
			Hint("see them: forkbox ps %s", box.Name)
	}
	ctx = context.WithoutCancel(ctx)
	if err := m.boxes.Halt(ctx, h, a, box, m.boxes.StopGrace); err != nil {
		return err
	}
	return m.SettleAtRest(ctx, op, h, box)
}

// rollback keeps what the box is and has it lie over the snapshot's layers.
func (m *Manager) rollback(ctx context.Context, p core.Layered, h *core.Handle, box *forkbox.Box, to forkbox.Snapshot) (forkbox.Snapshot, error) {
	kept, err := m.newSnapshot(ctx, *box, forkbox.SnapshotSpec{Message: "before the rollback to " + to.Name}, autoPrefix)
	if err != nil {
		return kept, err
	}
	blank, err := p.Blank(ctx, *box)
	if err != nil {
		return kept, err
	}
	after := *box
	after.Layers, after.Saving, after.At = to.Layers, core.NewID(), to.ID
	// With the fence of then: a sync since has told the box of edits to
	// reality that the snapshot does not know.
	after.Base, after.Unresolved = to.Base, to.Unresolved
	back := m.core.About(*box, forkbox.EventRolledBack, "to "+to.Name)
	back.Snapshot = to.ID
	back = core.With(back, forkbox.EventData{From: box.Name + "@" + to.Name})
	if !blank {
		kept.Layers = shelf.Prepend(after.Saving, box.Layers)
		return kept, m.shelve(ctx, p, h, box, after, kept, back)
	}
	if err := m.shelve(ctx, p, h, box, after, kept, back); err != nil {
		return kept, err
	}
	// What was shelved is a layer of nothing, which can go.
	box.Saving = ""
	if err := m.core.Ledger.UpdateBox(ctx, *box); err != nil {
		return kept, err
	}
	m.shelf.SweepSoon()
	return kept, nil
}

// forgetOldest removes what rollbacks long ago kept, in the background.
func (m *Manager) forgetOldest(kept forkbox.Snapshot) {
	prefix := prefixOf(kept.Name)
	if n, _ := strconv.Atoi(strings.TrimPrefix(kept.Name, prefix)); n <= keptOf(prefix) {
		return
	}
	m.core.Work.Go(func() {
		_, unlock, err := m.core.Lock(m.core.Ctx, kept.Box)
		if err != nil {
			return
		}
		defer unlock()
		if err := m.forgetAuto(m.core.Ctx, kept.Box); err != nil && m.core.Ctx.Err() == nil {
			m.core.Log.Warn("cannot remove old snapshots", "box", kept.Box, "error", err)
		}
	})
}

// forgetAuto removes the oldest automatic snapshots of a box but for what
// others need. The caller has the box's turn.
func (m *Manager) forgetAuto(ctx context.Context, id string) error {
	box, err := m.core.Ledger.Box(ctx, id)
	if err != nil {
		return err
	}
	all, err := m.core.Ledger.Snapshots(ctx, id)
	if err != nil {
		return err
	}
	have := map[string]int{}
	for _, s := range slices.Backward(all) {
		prefix := prefixOf(s.Name)
		if !s.Auto || s.ID == box.At {
			continue
		}
		if have[prefix]++; have[prefix] <= keptOf(prefix) {
			continue
		}
		if children, err := m.childrenOf(ctx, s); err != nil || len(children) > 0 {
			continue
		}
		if err := m.core.Ledger.DeleteSnapshot(ctx, s.ID, m.about(s, forkbox.EventSnapshotRemoved, s.Name+", which was kept long enough")); err != nil {
			return err
		}
		m.shelf.SweepSoon()
	}
	return nil
}

// prefixOf is what an automatic name has before its number.
func prefixOf(name string) string { return strings.TrimRight(name, "0123456789") }

func keptOf(prefix string) int {
	if prefix == autoPrefix {
		return autoKept
	}
	return otherKept
}
