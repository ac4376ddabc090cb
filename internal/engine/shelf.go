package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/forkbox/forkbox"
)

// shelf is what the engine knows of layers beyond the ledger.
type shelf struct {
	mu       sync.Mutex
	creating map[string]int    // layers that are being made, or were and are not in the ledger yet
	merged   map[string]string // by a stack's layers: the one that shows the same
	busy     map[string]bool   // stacks that are being merged
	roots    sync.RWMutex      // read-locked while a root may be used again
	sweeping bool
	again    bool // sweep once more when done
}

// creating keeps layers that the ledger does not name from being swept, until
// release is called: by then it names them, or nobody needs them.
func (e *Engine) creating(layers ...string) (release func()) {
	count := func(by int) {
		e.shelf.mu.Lock()
		defer e.shelf.mu.Unlock()
		if e.shelf.creating == nil {
			e.shelf.creating = map[string]int{}
		}
		for _, l := range layers {
			if e.shelf.creating[l] += by; e.shelf.creating[l] == 0 {
				delete(e.shelf.creating, l)
			}
		}
	}
	count(1)
	return func() { count(-1) }
}

// sweepSoon removes the layers that nothing needs, in the background.
func (e *Engine) sweepSoon() {
	p, ok := e.provider.(layered)
	if !ok {
		return
	}
	e.shelf.mu.Lock()
	defer e.shelf.mu.Unlock()
	if e.shelf.sweeping {
		e.shelf.again = true
		return
	}
	e.shelf.sweeping = true
	e.work.Go(func() { e.sweepAll(p) })
}

func (e *Engine) sweepAll(p layered) {
	for {
		if err := e.sweep(e.ctx, p); err != nil && e.ctx.Err() == nil {
			e.log.Warn("cannot remove layers that nothing needs", "error", err)
		}
		e.shelf.mu.Lock()
		if !e.shelf.again || e.ctx.Err() != nil {
			e.shelf.sweeping = false
			e.shelf.mu.Unlock()
			return
		}
		e.shelf.again = false
		e.shelf.mu.Unlock()
	}
}

// sweep removes the layers and roots that neither a box nor a snapshot nor a
// template names.
func (e *Engine) sweep(ctx context.Context, p layered) error {
	if err := e.sweepOf(ctx, p.Layers, p.RemoveLayer); err != nil {
		return err
	}
	// A root that is there already is used again: not while somebody may be
	// about to. Whoever is done with that sweeps again.
	if !e.shelf.roots.TryLock() {
		return nil
	}
	defer e.shelf.roots.Unlock()
	return e.sweepOf(ctx, p.Roots, p.RemoveRoot)
}

// sweepOf: the order matters. A layer that is there and not being made any
// more is named by the ledger as it is read afterwards, if anything needs it.
func (e *Engine) sweepOf(ctx context.Context, list func(context.Context) ([]string, error), remove func(context.Context, string) error) error {
	there, err := list(ctx)
	if err != nil || len(there) == 0 {
		return err
	}
	needed, err := e.needed(ctx)
	if err != nil {
		return err
	}
	known, err := e.known(ctx)
	if err != nil {
		return err
	}
	for _, id := range there {
		if needed[id] > 0 || !known[id] || e.unrecorded(ctx, id) != nil {
			continue
		}
		if err := remove(ctx, id); err != nil {
			return err
		}
		if err := e.ledger.ForgetLayers(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// known are the layers and roots that the ledger has heard of. What it has not
// is never swept, but shown: the ledger was lost, or is older than the store.
func (e *Engine) known(ctx context.Context) (map[string]bool, error) {
	list, err := e.ledger.KnownLayers(ctx)
	known := make(map[string]bool, len(list))
	for _, id := range list {
		known[id] = true
	}
	return known, err
}

// needed are the layers and roots that something names, or is about to.
func (e *Engine) needed(ctx context.Context) (map[string]int, error) {
	e.shelf.mu.Lock()
	needed := maps.Clone(e.shelf.creating)
	e.shelf.mu.Unlock()
	if needed == nil {
		needed = map[string]int{}
	}
	all, err := e.ledger.Stacks(ctx)
	if err != nil {
		return nil, err
	}
	var adoptable []string
	for _, s := range all {
		needed[s.Saving]++
		needed[s.Root]++
		for n, l := range s.Layers {
			needed[l]++
			adoptable = append(adoptable, e.mergedInto(s.Layers[n:])...)
		}
	}
	e.forgetMerged(adoptable)
	for _, l := range adoptable {
		needed[l]++
	}
	return needed, nil
}

// mergedInto is the layer that a stack was merged into, if it was.
func (e *Engine) mergedInto(stack []string) []string {
	e.shelf.mu.Lock()
	defer e.shelf.mu.Unlock()
	if len(e.shelf.merged) == 0 {
		return nil
	}
	if by := e.shelf.merged[stackKey(stack)]; by != "" {
		return []string{by}
	}
	return nil
}

// forgetMerged forgets the merged layers that nothing can adopt any more.
func (e *Engine) forgetMerged(adoptable []string) {
	e.shelf.mu.Lock()
	defer e.shelf.mu.Unlock()
	maps.DeleteFunc(e.shelf.merged, func(_, by string) bool {
		return e.shelf.creating[by] == 0 && !slices.Contains(adoptable, by)
	})
}

// maxStack is how many layers a box lies over before they are merged into one:
// overlayfs looks for a name in each of them.
const maxStack = 16

// flattenSoon merges the layers of a box when they have become many.
func (e *Engine) flattenSoon(box forkbox.Box) {
	p, ok := e.provider.(layered)
	if !ok || len(box.Layers) <= maxStack {
		return
	}
	key := stackKey(box.Layers)
	e.shelf.mu.Lock()
	defer e.shelf.mu.Unlock()
	if e.shelf.busy[key] || e.shelf.merged[key] != "" {
		return
	}
	if e.shelf.busy == nil {
		e.shelf.busy, e.shelf.merged = map[string]bool{}, map[string]string{}
	}
	e.shelf.busy[key] = true
	stack := slices.Clone(box.Layers)
	e.work.Go(func() {
		if err := e.flatten(e.ctx, p, stack); err != nil && e.ctx.Err() == nil {
			e.log.Warn("cannot merge layers", "box", box.ID, "error", err)
		}
		e.shelf.mu.Lock()
		defer e.shelf.mu.Unlock()
		delete(e.shelf.busy, key)
	})
}

// flatten merges a stack into one layer and has everything that lies over the
// stack lie over that one.
func (e *Engine) flatten(ctx context.Context, p layered, stack []string) error {
	layer := newID()
	// Boxes may lie over it that run and are told later: then it is used.
	defer e.creating(append(slices.Clone(stack), layer)...)()
	if err := e.ledger.KnowLayers(ctx, layer); err != nil {
		return err
	}
	if err := p.Flatten(ctx, stack, layer); err != nil {
		return err
	}
	e.shelf.mu.Lock()
	e.shelf.merged[stackKey(stack)] = layer
	e.shelf.mu.Unlock()
	used, err := e.replace(context.WithoutCancel(ctx), stack, layer)
	e.shelf.mu.Lock()
	if !used || err != nil { // nobody is left who would want it
		delete(e.shelf.merged, stackKey(stack))
	}
	e.shelf.mu.Unlock()
	e.sweepSoon()
	return err
}

// replace has everything that lies over a stack, and does not run, lie over
// one layer instead that shows the same.
func (e *Engine) replace(ctx context.Context, stack []string, layer string) (used bool, err error) {
	boxes, err := e.ledger.Boxes(ctx, nil)
	if err != nil {
		return false, err
	}
	for _, b := range boxes {
		did, err := e.replaceIn(ctx, b.ID, stack, layer)
		if err != nil {
			return used, err
		}
		used = used || did
	}
	did, err := e.replaceInTemplates(ctx, stack, layer)
	return used || did, err
}

func (e *Engine) replaceIn(ctx context.Context, id string, stack []string, layer string) (used bool, err error) {
	_, unlock, err := e.lock(ctx, id)
	if err != nil {
		return false, err
	}
	defer unlock()
	box, err := e.ledger.Box(ctx, id)
	if isNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// A box that runs has them mounted; it is told when it comes to rest.
	if shorter, ok := replaced(box.Layers, stack, layer); ok && box.State == forkbox.Stopped {
		box.Layers, used = shorter, true
		if err := e.ledger.UpdateBox(ctx, box); err != nil {
			return used, err
		}
	}
	snapshots, err := e.ledger.Snapshots(ctx, id)
	for _, s := range snapshots {
		if shorter, ok := replaced(s.Layers, stack, layer); ok {
			s.Layers, used = shorter, true
			if err := e.ledger.UpdateSnapshot(ctx, s); err != nil {
				return used, err
			}
		}
	}
	return used, err
}

func (e *Engine) replaceInTemplates(ctx context.Context, stack []string, layer string) (used bool, err error) {
	unlock, err := e.lockTemplates(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	templates, err := e.ledger.Templates(ctx, nil)
	for _, t := range templates {
		if shorter, ok := replaced(t.Layers, stack, layer); ok {
			t.Layers, used = shorter, true
			if err := e.ledger.UpdateTemplate(ctx, t); err != nil {
				return used, err
			}
			e.warm(t) // those that are ready lie over the old ones
		}
	}
	return used, err
}

// replaced is layers with the stack at their bottom replaced.
func replaced(layers, stack []string, by string) ([]string, bool) {
	n := len(layers) - len(stack)
	if n < 0 || len(stack) == 0 || !slices.Equal(layers[n:], stack) {
		return layers, false
	}
	return append(slices.Clone(layers[:n]), by), true
}

// shorten has a box at rest lie over what its layers were merged into while it
// ran. The caller has the box's turn and writes the box.
func (e *Engine) shorten(box *forkbox.Box) {
	e.shelf.mu.Lock()
	defer e.shelf.mu.Unlock()
	for n := range box.Layers {
		by := e.shelf.merged[stackKey(box.Layers[n:])]
		if by != "" {
			box.Layers, _ = replaced(box.Layers, box.Layers[n:], by)
			return
		}
	}
}

func stackKey(layers []string) string { return strings.Join(layers, " ") }
