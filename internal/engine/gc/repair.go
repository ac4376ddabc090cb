package gc

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// logKeeper is a [Logs] that says which execs of a box it has the output of,
// and when that was last written.
type logKeeper interface {
	Kept(box string) (last int, written func(exec int) time.Time)
}

// Repair brings back to the ledger what the store has and the ledger does not:
// it was lost, or is older than the store. Nothing is deleted.
func (m *Manager) Repair(ctx context.Context) (forkbox.Repair, error) {
	const op = "repair the ledger"
	done := forkbox.Repair{
		Boxes: []forkbox.Repaired{}, Templates: []forkbox.Repaired{}, Receipts: []forkbox.Repaired{}, Left: []forkbox.Repaired{},
	}
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return done, err
	}
	defer end()
	ctx = context.WithoutCancel(ctx) // half a repair is of no use
	r, err := m.newRepairer(ctx, &done)
	if err != nil {
		return done, forkbox.Wrap(op, err)
	}
	if err := r.receipts(ctx); err != nil {
		return done, forkbox.Wrap(op, err)
	}
	r.boxes(ctx)
	r.templates(ctx)
	if err := m.RestoreUnrecorded(ctx); err != nil {
		return done, forkbox.Wrap(op, err)
	}
	m.core.Tell(core.With(forkbox.Event{
		Kind: forkbox.EventStoreRepaired, UID: m.core.UID(),
		Text: fmt.Sprintf("%d boxes, %d templates and %d receipts were brought back", len(done.Boxes), len(done.Templates), len(done.Receipts)),
	}, forkbox.EventData{Count: len(done.Boxes) + len(done.Templates) + len(done.Receipts)}))
	return done, forkbox.Wrap(op, r.left(ctx))
}

// repairer knows what the store has.
type repairer struct {
	*Manager
	done   *forkbox.Repair
	there  map[string]bool // layers and roots
	stored map[string]bool // boxes
}

func (m *Manager) newRepairer(ctx context.Context, done *forkbox.Repair) (*repairer, error) {
	r := &repairer{Manager: m, done: done, there: map[string]bool{}, stored: map[string]bool{}}
	if s, ok := m.core.Provider.(storage); ok {
		ids, err := s.Stored(ctx)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			r.stored[id] = true
		}
	}
	p, ok := m.core.Provider.(core.Layered)
	if !ok {
		return r, nil
	}
	for _, list := range []func(context.Context) ([]string, error){p.Layers, p.Roots} {
		ids, err := list(ctx)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			r.there[id] = true
		}
	}
	return r, nil
}

// complain says why something stays as it is.
func (r *repairer) complain(id, name string, err error) {
	r.done.Left = append(r.done.Left, forkbox.Repaired{ID: id, Name: name, Why: err.Error()})
}

// receipts brings back applies: a start does the same.
func (r *repairer) receipts(ctx context.Context) error {
	if r.Manager.core.Receipts == "" {
		return nil
	}
	release, err := r.landing.HoldReality(ctx, "repair the ledger")
	if err != nil {
		return err
	}
	defer release()
	for _, receipt := range r.landing.Adopt(ctx) {
		r.done.Receipts = append(r.done.Receipts, forkbox.Repaired{ID: receipt.ID, Name: receipt.BoxName, Why: receipt.Note})
	}
	return nil
}

func (r *repairer) boxes(ctx context.Context) {
	if r.core.Records == nil {
		return
	}
	records, err := r.core.Records.Boxes()
	if err != nil {
		r.complain("", "", err)
	}
	slices.SortFunc(records, func(a, b forkbox.BoxRecord) int { return a.Box.Created.Compare(b.Box.Created) })
	for _, record := range records {
		if err := r.box(ctx, record); err != nil {
			r.complain(record.Box.ID, record.Box.Name, err)
		}
	}
}

// box brings one back, or has one that an older ledger knows lie over what the
// store has of it.
func (r *repairer) box(ctx context.Context, record forkbox.BoxRecord) error {
	h, unlock, err := r.core.Lock(ctx, record.Box.ID)
	if err != nil {
		return err
	}
	defer unlock()
	known, err := r.core.Ledger.Box(ctx, record.Box.ID)
	switch {
	case err == nil:
		return r.correct(ctx, h, known, record)
	case !core.IsNotFound(err):
		return err
	case !r.stored[record.Box.ID] && len(record.Box.Layers) == 0:
		return nil // nothing of it is left
	}
	if err := r.missing(record.Box.Layers, record.Box.Saving, record.Box.Base.Root); err != nil {
		return err
	}
	return r.bringBack(ctx, h, record)
}

// missing is an error when the store lacks what something lies over. What is
// being saved may still be the box's own.
func (r *repairer) missing(layers []string, saving, root string) error {
	for _, l := range layers {
		if !r.there[l] && l != saving {
			return forkbox.Errorf(forkbox.NotFound, "bring it back", "the store does not have its layer %s", l)
		}
	}
	if root == "" || r.there[root] {
		return nil
	}
	if _, err := os.Stat(root); err != nil {
		return forkbox.Errorf(forkbox.NotFound, "bring it back", "what it lies over is gone: %w", err)
	}
	return nil
}

// bringBack puts a box into the ledger. It is said to run: if it does, it is
// found.
func (r *repairer) bringBack(ctx context.Context, h *core.Handle, record forkbox.BoxRecord) error {
	box := record.Box
	box.State = forkbox.Running
	if err := r.know(ctx, box.Base.Root, box.Layers, box.Saving); err != nil {
		return err
	}
	box, err := r.addFree(ctx, box)
	if err != nil {
		return err
	}
	if !r.stored[box.ID] {
		if err := r.core.Provider.Prepare(ctx, box); err != nil {
			return err
		}
	}
	done := forkbox.Repaired{ID: box.ID, Name: box.Name, Snapshots: r.snapshots(ctx, &box, record.Snapshots)}
	if err := r.execs(ctx, box.ID); err != nil {
		return err
	}
	if err := r.find(ctx, h, &box); err != nil {
		done.Why = err.Error()
	}
	r.done.Boxes = append(r.done.Boxes, done)
	return nil
}

// find attaches to a box that is said to run, or has it be at rest, as nearly
// all are.
func (r *repairer) find(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
	a, err := r.Manager.boxes.Find(ctx, h, box)
	if err != nil || a != nil {
		return err
	}
	box.Note, box.Death = "", nil
	if err := r.shelf.ShelveTop(ctx, box); err != nil {
		return err
	}
	return r.core.Ledger.UpdateBox(ctx, *box)
}

// know has the ledger hear of what something lies over, so that it is swept
// when nothing needs it any more.
func (r *repairer) know(ctx context.Context, root string, layers []string, more ...string) error {
	return r.core.Ledger.KnowLayers(ctx, slices.Concat([]string{root}, layers, more)...)
}

// addFree adds a box under its name, or one like it: a later box may have it.
func (r *repairer) addFree(ctx context.Context, box forkbox.Box) (forkbox.Box, error) {
	name := box.Name
	var err error
	for n := 1; n < 100; n++ {
		if err = r.forks.AddBox(ctx, box); forkbox.CodeOf(err) != forkbox.Exists {
			return box, err
		}
		box.Name = fmt.Sprintf("%.50s-back%d", name, n)
	}
	return box, err
}

// snapshots brings back those of a box that the store has whole.
func (r *repairer) snapshots(ctx context.Context, box *forkbox.Box, list []forkbox.Snapshot) (n int) {
	for _, s := range list {
		err := r.missing(s.Layers, box.Saving, s.Base.Root)
		if err == nil {
			err = r.know(ctx, s.Base.Root, s.Layers)
		}
		if err == nil {
			err = r.core.Ledger.AddSnapshot(ctx, s, *box)
		}
		if err != nil {
			r.complain(s.ID, box.Name+"@"+s.Name, err)
			continue
		}
		n++
	}
	return n
}

// execs has a box count its commands from where it was: what they were is not
// known any more, but what they wrote is.
func (r *repairer) execs(ctx context.Context, box string) error {
	logs, ok := r.core.Logs.(logKeeper)
	if !ok {
		return nil
	}
	last, written := logs.Kept(box)
	for n := 1; n <= last; n++ {
		x, err := r.core.Ledger.AddExec(ctx, forkbox.Exec{Box: box, Argv: []string{"(not recorded)"}, Started: written(n)})
		if err != nil {
			return err
		}
		if err := r.endExec(ctx, x, written(n)); err != nil {
			return err
		}
	}
	return nil
}

// endExec writes how a command ended that has an end in its log.
func (r *repairer) endExec(ctx context.Context, x forkbox.Exec, at time.Time) error {
	logs, ok := r.core.Logs.(core.ExitLogs)
	if !ok {
		return nil
	}
	exit, out, ok := logs.Exit(x.Box, x.ID)
	if !ok {
		return nil
	}
	x.Ended, x.Exit, x.Output = &at, &exit, &out
	return r.core.Ledger.UpdateExec(ctx, x)
}

// correct has a box that the ledger knows be what its record says, where the
// ledger is older than that: the box has become layers more often since, or lies
// over others, or was synced.
func (r *repairer) correct(ctx context.Context, h *core.Handle, known forkbox.Box, record forkbox.BoxRecord) error {
	older := record.Box.Shelved > known.Shelved || record.Box.Base.Fence.After(known.Base.Fence) ||
		r.missing(known.Layers, known.Saving, "") != nil
	if known.State != forkbox.Stopped || !older {
		return nil
	}
	if err := r.missing(record.Box.Layers, record.Box.Saving, ""); err != nil {
		return err
	}
	if err := r.know(ctx, record.Box.Base.Root, record.Box.Layers, record.Box.Saving); err != nil {
		return err
	}
	box := record.Box
	box.Name, box.State = known.Name, forkbox.Running // if it does, it is found
	if err := r.core.Ledger.UpdateBox(ctx, box); err != nil {
		return err
	}
	if err := r.find(ctx, h, &box); err != nil {
		return err
	}
	r.done.Boxes = append(r.done.Boxes, forkbox.Repaired{ID: box.ID, Name: box.Name,
		Snapshots: r.snapshots(ctx, &box, r.unknownOf(ctx, box.ID, record.Snapshots)), Why: "the ledger was older than it"})
	return nil
}

// recall has a box that has become layers since the ledger was last right be
// what its record says, if it has one from then.
func (m *Manager) recall(ctx context.Context, box forkbox.Box) bool {
	if m.core.Records == nil {
		return false
	}
	record, ok := m.core.Records.Box(box.ID)
	if !ok || record.Box.Shelved <= box.Shelved {
		return false
	}
	r, err := m.newRepairer(ctx, &forkbox.Repair{})
	if err == nil {
		err = r.box(ctx, record)
	}
	if err != nil {
		m.core.Log.WarnContext(ctx, "cannot go by the record of a box", "box", box.ID, "error", err)
	}
	return err == nil && box.State == forkbox.Stopped
}

// unknownOf are the snapshots that the ledger does not have.
func (r *repairer) unknownOf(ctx context.Context, box string, list []forkbox.Snapshot) []forkbox.Snapshot {
	return slices.DeleteFunc(slices.Clone(list), func(s forkbox.Snapshot) bool {
		_, err := r.core.Ledger.Snapshot(ctx, box, s.ID)
		return err == nil
	})
}

func (r *repairer) templates(ctx context.Context) {
	if r.core.Records == nil {
		return
	}
	list, err := r.core.Records.Templates()
	if err != nil {
		r.complain("", "", err)
	}
	have, err := r.core.Ledger.Templates(ctx, nil)
	if err != nil {
		r.complain("", "", err)
		return
	}
	for _, t := range list {
		if slices.ContainsFunc(have, func(x forkbox.Template) bool { return x.ID == t.ID }) {
			continue
		}
		if err := r.template(ctx, t); err != nil {
			r.complain(t.ID, "template "+t.Name, err)
		}
	}
}

func (r *repairer) template(ctx context.Context, t forkbox.Template) error {
	if err := r.missing(t.Layers, "", t.Base.Root); err != nil {
		return err
	}
	if err := r.know(ctx, t.Base.Root, t.Layers); err != nil {
		return err
	}
	if err := r.core.Ledger.AddTemplate(ctx, t); err != nil {
		return err
	}
	r.done.Templates = append(r.done.Templates, forkbox.Repaired{ID: t.ID, Name: t.Name})
	return nil
}

// left names what the ledger still does not know.
func (r *repairer) left(ctx context.Context) error {
	strays, layers, err := r.unknown(ctx)
	if err != nil {
		return err
	}
	for _, id := range strays {
		if !slices.ContainsFunc(r.done.Left, func(x forkbox.Repaired) bool { return x.ID == id }) {
			r.complain(id, "", forkbox.Errorf(forkbox.NotFound, "bring back the box", "the store has its files, and no record of it"))
		}
	}
	for _, id := range layers {
		r.complain(id, "layer", forkbox.Errorf(forkbox.NotFound, "use the layer", "nothing that is known lies over it"))
	}
	return nil
}

// unknown are the boxes, and the layers and roots, that are stored and that the
// ledger has never heard of.
func (m *Manager) unknown(ctx context.Context) (boxes, layers []string, err error) {
	if boxes, err = m.strays(ctx); err != nil {
		return nil, nil, err
	}
	p, ok := m.core.Provider.(core.Layered)
	if !ok {
		return boxes, nil, nil
	}
	for _, list := range []func(context.Context) ([]string, error){p.Layers, p.Roots} {
		ids, err := list(ctx)
		if err != nil {
			return nil, nil, err
		}
		known, err := m.shelf.KnownLayers(ctx) // read after: what is made meanwhile is known first
		if err != nil {
			return nil, nil, err
		}
		layers = append(layers, slices.DeleteFunc(ids, func(id string) bool { return known[id] })...)
	}
	return boxes, layers, nil
}
