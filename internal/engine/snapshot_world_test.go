package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
)

// layeredLedger counts what is written about snapshots as steps, too.
type layeredLedger struct {
	fusedLedger
	// meanwhile, if not nil, is done once while a sweep reads what is needed.
	meanwhile *func()
}

func (l layeredLedger) AddSnapshot(ctx context.Context, s forkbox.Snapshot, b forkbox.Box, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.AddSnapshot(ctx, s, b, tell...) })
}

func (l layeredLedger) TakeBack(ctx context.Context, snapshot string, b forkbox.Box, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.TakeBack(ctx, snapshot, b, tell...) })
}

func (l layeredLedger) UpdateSnapshot(ctx context.Context, s forkbox.Snapshot) error {
	return l.fuse.step(func() error { return l.Ledger.UpdateSnapshot(ctx, s) })
}

func (l layeredLedger) DeleteSnapshot(ctx context.Context, id string, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.DeleteSnapshot(ctx, id, tell...) })
}

func (l layeredLedger) AddTemplate(ctx context.Context, t forkbox.Template, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.AddTemplate(ctx, t, tell...) })
}

func (l layeredLedger) UpdateTemplate(ctx context.Context, t forkbox.Template, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.UpdateTemplate(ctx, t, tell...) })
}

func (l layeredLedger) DeleteTemplate(ctx context.Context, id string, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.DeleteTemplate(ctx, id, tell...) })
}

func (l layeredLedger) Stacks(ctx context.Context) ([]forkbox.Stack, error) {
	l.interrupt()
	return l.Ledger.Stacks(ctx)
}

func (l layeredLedger) SnapshotsOf(ctx context.Context, uid *int) ([]forkbox.Snapshot, error) {
	if uid == nil {
		l.interrupt()
	}
	return l.Ledger.SnapshotsOf(ctx, uid)
}

func (l layeredLedger) interrupt() {
	if do := *l.meanwhile; do != nil {
		*l.meanwhile = nil
		do()
	}
}

// layeredWorld is a world whose boxes have layers.
type layeredWorld struct {
	*world
	shelf     *fakeShelf
	meanwhile func()
}

func newLayeredWorld(t testing.TB, stacks bool) *layeredWorld {
	w := &layeredWorld{shelf: newFakeShelf(stacks)}
	w.world = newWorld(t)
	w.reset()
	return w
}

// reset empties the world and puts a new engine in charge.
func (w *layeredWorld) reset() {
	w.t.Helper()
	w.world.reset()
	templates, err := w.ledger.Templates(context.Background(), nil)
	check(w.t, err)
	for _, t := range templates {
		check(w.t, w.ledger.DeleteTemplate(context.Background(), t.ID))
	}
	w.shelf = newFakeShelf(w.shelf.stacks)
	w.host = w.shelf.host
	w.restart(&fuse{})
}

func (w *layeredWorld) restart(f *fuse) {
	w.t.Helper()
	w.world.restart(f, func(c *Config) {
		c.Provider = layeredProvider{fakeProvider{w.host, f}, w.shelf}
		c.Ledger = layeredLedger{fusedLedger{w.ledger, f}, &w.meanwhile}
	})
}

// write is what a command does in a box, which it wakes.
func (w *layeredWorld) write(ref, word string) {
	w.t.Helper()
	x, err := w.Exec(context.Background(), ada, ref, command("write"), forkbox.Stdio{})
	check(w.t, err)
	w.host.mu.Lock()
	w.shelf.tops[x.Box] = append(slices.Clone(w.shelf.tops[x.Box]), word)
	m := w.host.instances[x.Box]
	w.host.mu.Unlock()
	m.exit(x.ID, forkbox.Exit{Cause: forkbox.CauseExited})
	w.wait(x)
}

// settle waits until nothing is done in the background any more.
func (w *layeredWorld) settle() {
	w.t.Helper()
	w.eventually("it settles", func() bool {
		return w.Engine.core.Still() && w.shelfManager.Still()
	})
}

// shown is what everything shows, by its name: a box's, BOX@SNAPSHOT, or a
// template's with a slash before it.
func (w *layeredWorld) shown() (map[string]string, error) {
	ctx, all := context.Background(), map[string]string{}
	boxes, err := w.ledger.Boxes(ctx, nil)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	add := func(name string, layers, top []string) {
		words, bad := w.shelf.shows(layers, top)
		if all[name] = words; bad != nil {
			err = fmt.Errorf("%s: %w", name, bad)
		}
	}
	for _, b := range boxes {
		names[b.ID] = b.Name
		add(b.Name, w.shelf.below(b), w.shelf.top(b.ID))
	}
	snapshots, listErr := w.ledger.SnapshotsOf(ctx, nil)
	for _, s := range snapshots {
		add(names[s.Box]+"@"+s.Name, s.Layers, nil)
	}
	templates, templatesErr := w.ledger.Templates(ctx, nil)
	for _, t := range templates {
		add("/"+t.Name, t.Layers, nil)
	}
	return all, errors.Join(err, listErr, templatesErr)
}

// extra are the layers that nothing names.
func (w *layeredWorld) extra() (ids []string) {
	named := w.named()
	w.host.mu.Lock()
	defer w.host.mu.Unlock()
	for id := range w.shelf.layers {
		if !named[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// named are the layers that the ledger names.
func (w *layeredWorld) named() map[string]bool {
	ctx, all := context.Background(), map[string]bool{}
	note := func(layers ...string) {
		for _, l := range layers {
			all[l] = true
		}
	}
	boxes, err := w.ledger.Boxes(ctx, nil)
	check(w.t, err)
	for _, b := range boxes {
		note(append(b.Layers, b.Saving)...)
	}
	snapshots, err := w.ledger.SnapshotsOf(ctx, nil)
	check(w.t, err)
	for _, s := range snapshots {
		note(s.Layers...)
	}
	templates, err := w.ledger.Templates(ctx, nil)
	check(w.t, err)
	for _, t := range templates {
		note(t.Layers...)
	}
	return all
}
