package main

import (
	"context"

	"github.com/forkbox/forkbox"
)

const (
	verbSnapshot = "snapshot"
	verbRollback = "rollback"
	verbFork     = "fork"          // of a box as it is: a snapshot and a child
	verbForkAt   = "fork BOX@SNAP" // of a snapshot that is there: a child
)

// cleanName is the snapshot that a box has before it gets the files.
const cleanName = "clean"

// trial is one verb done to a box that has written a pile.
type trial struct {
	*pile
	ctx   context.Context
	awake bool

	box    string
	layers []string // where the pile went
	child  string
}

// cases are every verb, on a box at rest and on one whose init is still there.
func (p *pile) cases(ctx context.Context) (cases []*measured) {
	for _, awake := range []bool{false, true} {
		t := &trial{pile: p, ctx: ctx, awake: awake}
		for _, c := range []*measured{
			{name: verbSnapshot, before: t.written, do: t.snapshot},
			{name: verbRollback, before: t.written, do: t.rollback},
			{name: verbFork, before: t.written, do: t.fork},
			{name: verbForkAt, before: t.saved, do: t.forkAt},
		} {
			if awake && c.name == verbForkAt {
				continue // the snapshot has stopped it
			}
			c.name, c.quiet, c.after = idleCase(c.name, p.files, awake), settle, t.clear
			cases = append(cases, c)
		}
	}
	return cases
}

// written makes the box. All have the snapshot, so that all are alike.
func (t *trial) written() (err error) {
	if t.box, err = t.d.create(t.ctx); err != nil {
		return err
	}
	if _, err := t.d.Snapshot(t.ctx, t.box, forkbox.SnapshotSpec{Name: cleanName}); err != nil {
		return err
	}
	if err := t.lend(t.box); err != nil {
		return err
	}
	if t.awake {
		return t.d.exec(t.ctx, t.box)
	}
	return nil
}

func (t *trial) saved() error {
	if err := t.written(); err != nil {
		return err
	}
	return t.snapshot()
}

func (t *trial) snapshot() error {
	s, err := t.d.Snapshot(t.ctx, t.box, forkbox.SnapshotSpec{})
	t.layers = s.Layers
	return err
}

func (t *trial) rollback() error {
	r, err := t.d.Rollback(t.ctx, t.box, forkbox.RollbackSpec{To: cleanName})
	t.layers = r.Kept.Layers
	return err
}

func (t *trial) fork() error { return t.forkOf(t.box) }

func (t *trial) forkAt() error { return t.forkOf(t.box + "@") }

func (t *trial) forkOf(ref string) error {
	f, err := t.d.Fork(t.ctx, ref, forkbox.ForkSpec{})
	if err != nil {
		return err
	}
	t.layers = f.Snapshot.Layers
	if f.Children[0].Error != nil {
		return f.Children[0].Error
	}
	t.child = f.Children[0].Box.ID
	return nil
}

// check makes sure that the box has the files: that nothing is fast because
// there is nothing.
func (t *trial) check() error {
	if err := t.saved(); err != nil {
		return err
	}
	if err := t.d.diff(t.ctx, t.box, t.files); err != nil {
		return err
	}
	return t.clear()
}

// clear takes the pile back and removes what was made.
func (t *trial) clear() error {
	if err := t.reclaim(t.layers); err != nil {
		return err
	}
	if t.child != "" {
		if err := t.d.Remove(t.ctx, t.child, true); err != nil {
			return err
		}
		t.child = ""
	}
	return t.d.Remove(t.ctx, t.box, true)
}
