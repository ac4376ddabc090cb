package records

import (
	"context"

	"github.com/forkbox/forkbox"
)

// UpdateBox implements [forkbox.Ledger].
func (k *Keeper) UpdateBox(ctx context.Context, box forkbox.Box, tell ...forkbox.Event) error {
	if err := k.Ledger.UpdateBox(ctx, box, tell...); err != nil {
		return err
	}
	if box.State == forkbox.Removing { // before any of it goes: what is removed is not brought back
		k.forget(boxPrefix, box.ID)
		return nil
	}
	k.markBox(box.ID)
	return nil
}

// DeleteBox implements [forkbox.Ledger].
func (k *Keeper) DeleteBox(ctx context.Context, id string, tell ...forkbox.Event) error {
	if err := k.Ledger.DeleteBox(ctx, id, tell...); err != nil {
		return err
	}
	k.forget(boxPrefix, id)
	return nil
}

// AddSnapshot implements [forkbox.Ledger].
func (k *Keeper) AddSnapshot(ctx context.Context, s forkbox.Snapshot, box forkbox.Box, tell ...forkbox.Event) error {
	return k.told(box.ID, k.Ledger.AddSnapshot(ctx, s, box, tell...))
}

// TakeBack implements [forkbox.Ledger].
func (k *Keeper) TakeBack(ctx context.Context, snapshot string, box forkbox.Box, tell ...forkbox.Event) error {
	return k.told(box.ID, k.Ledger.TakeBack(ctx, snapshot, box, tell...))
}

// UpdateSnapshot implements [forkbox.Ledger].
func (k *Keeper) UpdateSnapshot(ctx context.Context, s forkbox.Snapshot) error {
	return k.told(s.Box, k.Ledger.UpdateSnapshot(ctx, s))
}

func (k *Keeper) told(box string, err error) error {
	if err == nil {
		k.markBox(box)
	}
	return err
}

// AddTemplate implements [forkbox.Ledger].
func (k *Keeper) AddTemplate(ctx context.Context, t forkbox.Template, tell ...forkbox.Event) error {
	return k.toldTemplate(t, k.Ledger.AddTemplate(ctx, t, tell...))
}

// UpdateTemplate implements [forkbox.Ledger].
func (k *Keeper) UpdateTemplate(ctx context.Context, t forkbox.Template, tell ...forkbox.Event) error {
	return k.toldTemplate(t, k.Ledger.UpdateTemplate(ctx, t, tell...))
}

func (k *Keeper) toldTemplate(t forkbox.Template, err error) error {
	if err == nil {
		k.mark(func() { k.templates[t.ID] = t })
	}
	return err
}

// DeleteTemplate implements [forkbox.Ledger].
func (k *Keeper) DeleteTemplate(ctx context.Context, id string, tell ...forkbox.Event) error {
	if err := k.Ledger.DeleteTemplate(ctx, id, tell...); err != nil {
		return err
	}
	k.forget(templatePrefix, id)
	return nil
}
