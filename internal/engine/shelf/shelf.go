package shelf

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
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

// KeepLayers keeps layers that the ledger does not name from being swept, until
// release is called: by then it names them, or nothing needs them.
func (m *Manager) KeepLayers(layers ...string) (release func()) {
	count := func(by int) {
		m.layers.mu.Lock()
		defer m.layers.mu.Unlock()
		if m.layers.creating == nil {
			m.layers.creating = map[string]int{}
		}
		for _, l := range layers {
			if m.layers.creating[l] += by; m.layers.creating[l] == 0 {
				delete(m.layers.creating, l)
			}
		}
	}
	count(1)
	return func() { count(-1) }
}

// UseRoots keeps roots from being swept until release is called: one that is
// there already may be used again meanwhile.
func (m *Manager) UseRoots() (release func()) {
	m.layers.roots.RLock()
	return m.layers.roots.RUnlock
}

// Still says whether nothing is swept or merged in the background.
func (m *Manager) Still() bool {
	m.layers.mu.Lock()
	defer m.layers.mu.Unlock()
	return !m.layers.sweeping && len(m.layers.busy) == 0
}

// SweepSoon removes the layers that nothing needs, in the background.
func (m *Manager) SweepSoon() {
	p, ok := m.core.Provider.(core.Layered)
	if !ok {
		return
	}
	m.layers.mu.Lock()
	defer m.layers.mu.Unlock()
	if m.layers.sweeping {
		m.layers.again = true
		return
	}
	m.layers.sweeping = true
	m.core.Work.Go(func() { m.sweepAll(p) })
}

func (m *Manager) sweepAll(p core.Layered) {
	for {
		if err := m.sweep(m.core.Ctx, p); err != nil && m.core.Ctx.Err() == nil {
			m.core.Log.Warn("cannot remove layers that nothing needs", "error", err)
		}
		m.layers.mu.Lock()
		if !m.layers.again || m.core.Ctx.Err() != nil {
			m.layers.sweeping = false
			m.layers.mu.Unlock()
			return
		}
		m.layers.again = false
		m.layers.mu.Unlock()
	}
}

// sweep removes the layers and roots that neither a box nor a snapshot nor a
// template names.
func (m *Manager) sweep(ctx context.Context, p core.Layered) error {
	if err := m.sweepOf(ctx, p.Layers, p.RemoveLayer); err != nil {
		return err
	}
	// A root that is there already is used again: not while an operation may be
	// about to. When that is done it sweeps again.
	if !m.layers.roots.TryLock() {
		return nil
	}
	defer m.layers.roots.Unlock()
	return m.sweepOf(ctx, p.Roots, p.RemoveRoot)
}

// sweepOf: the order matters. A layer that is there and not being made any
// more is named by the ledger as it is read afterwards, if anything needs it.
func (m *Manager) sweepOf(ctx context.Context, list func(context.Context) ([]string, error), remove func(context.Context, string) error) error {
	there, err := list(ctx)
	if err != nil || len(there) == 0 {
		return err
	}
	needed, err := m.Needed(ctx)
	if err != nil {
		return err
	}
	known, err := m.KnownLayers(ctx)
	if err != nil {
		return err
	}
	for _, id := range there {
		if needed[id] > 0 || !known[id] || m.Unrecorded(ctx, id) != nil {
			continue
		}
		if err := remove(ctx, id); err != nil {
			return err
		}
		if err := m.core.Ledger.ForgetLayers(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// KnownLayers are the layers and roots that the ledger has heard of. What it has not
// is never swept, but shown: the ledger was lost, or is older than the store.
func (m *Manager) KnownLayers(ctx context.Context) (map[string]bool, error) {
	list, err := m.core.Ledger.KnownLayers(ctx)
	known := make(map[string]bool, len(list))
	for _, id := range list {
		known[id] = true
	}
	return known, err
}

// Needed are the layers and roots that something names, or is about to.
func (m *Manager) Needed(ctx context.Context) (map[string]int, error) {
	m.layers.mu.Lock()
	needed := maps.Clone(m.layers.creating)
	m.layers.mu.Unlock()
	if needed == nil {
		needed = map[string]int{}
	}
	all, err := m.core.Ledger.Stacks(ctx)
	if err != nil {
		return nil, err
	}
	var adoptable []string
	for _, s := range all {
		needed[s.Saving]++
		needed[s.Root]++
		for n, l := range s.Layers {
			needed[l]++
			adoptable = append(adoptable, m.mergedInto(s.Layers[n:])...)
		}
	}
	m.forgetMerged(adoptable)
	for _, l := range adoptable {
		needed[l]++
	}
	return needed, nil
}

// mergedInto is the layer that a stack was merged into, if it was.
func (m *Manager) mergedInto(stack []string) []string {
	m.layers.mu.Lock()
	defer m.layers.mu.Unlock()
	if len(m.layers.merged) == 0 {
		return nil
	}
	if by := m.layers.merged[StackKey(stack)]; by != "" {
		return []string{by}
	}
	return nil
}

// forgetMerged forgets the merged layers that nothing can adopt any more.
func (m *Manager) forgetMerged(adoptable []string) {
	m.layers.mu.Lock()
	defer m.layers.mu.Unlock()
	maps.DeleteFunc(m.layers.merged, func(_, by string) bool {
		return m.layers.creating[by] == 0 && !slices.Contains(adoptable, by)
	})
}

// MaxStack is how many layers a box lies over before they are merged into one:
// overlayfs looks for a name in each of them.
const MaxStack = 16

// FlattenSoon merges the layers of a box when they have become many.
func (m *Manager) FlattenSoon(box forkbox.Box) {
	p, ok := m.core.Provider.(core.Layered)
	if !ok || len(box.Layers) <= MaxStack {
		return
	}
	key := StackKey(box.Layers)
	m.layers.mu.Lock()
	defer m.layers.mu.Unlock()
	if m.layers.busy[key] || m.layers.merged[key] != "" {
		return
	}
	if m.layers.busy == nil {
		m.layers.busy, m.layers.merged = map[string]bool{}, map[string]string{}
	}
	m.layers.busy[key] = true
	stack := slices.Clone(box.Layers)
	m.core.Work.Go(func() {
		if err := m.flatten(m.core.Ctx, p, stack); err != nil && m.core.Ctx.Err() == nil {
			m.core.Log.Warn("cannot merge layers", "box", box.ID, "error", err)
		}
		m.layers.mu.Lock()
		defer m.layers.mu.Unlock()
		delete(m.layers.busy, key)
	})
}

// flatten merges a stack into one layer and has everything that lies over the
// stack lie over that one.
func (m *Manager) flatten(ctx context.Context, p core.Layered, stack []string) error {
	layer := core.NewID()
	// Boxes may lie over it that run and are told later: then it is used.
	defer m.KeepLayers(append(slices.Clone(stack), layer)...)()
	if err := m.core.Ledger.KnowLayers(ctx, layer); err != nil {
		return err
	}
	if err := p.Flatten(ctx, stack, layer); err != nil {
		return err
	}
	m.layers.mu.Lock()
	m.layers.merged[StackKey(stack)] = layer
	m.layers.mu.Unlock()
	used, err := m.replace(context.WithoutCancel(ctx), stack, layer)
	m.layers.mu.Lock()
	if !used || err != nil { // nothing is left that would lie over it
		delete(m.layers.merged, StackKey(stack))
	}
	m.layers.mu.Unlock()
	m.SweepSoon()
	return err
}

// replace has everything that lies over a stack, and does not run, lie over
// one layer instead that shows the same.
func (m *Manager) replace(ctx context.Context, stack []string, layer string) (used bool, err error) {
	boxes, err := m.core.Ledger.Boxes(ctx, nil)
	if err != nil {
		return false, err
	}
	for _, b := range boxes {
		did, err := m.ReplaceIn(ctx, b.ID, stack, layer)
		if err != nil {
			return used, err
		}
		used = used || did
	}
	did, err := m.ReplaceInTemplates(ctx, stack, layer)
	return used || did, err
}

// ReplaceIn has a box and its snapshots lie over one layer instead of a stack.
func (m *Manager) ReplaceIn(ctx context.Context, id string, stack []string, layer string) (used bool, err error) {
	_, unlock, err := m.core.Lock(ctx, id)
	if err != nil {
		return false, err
	}
	defer unlock()
	box, err := m.core.Ledger.Box(ctx, id)
	if core.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// A box that runs has them mounted; it is told when it comes to rest.
	if shorter, ok := Replaced(box.Layers, stack, layer); ok && box.State == forkbox.Stopped {
		box.Layers, used = shorter, true
		if err := m.core.Ledger.UpdateBox(ctx, box); err != nil {
			return used, err
		}
	}
	snapshots, err := m.core.Ledger.Snapshots(ctx, id)
	for _, s := range snapshots {
		if shorter, ok := Replaced(s.Layers, stack, layer); ok {
			s.Layers, used = shorter, true
			if err := m.core.Ledger.UpdateSnapshot(ctx, s); err != nil {
				return used, err
			}
		}
	}
	return used, err
}

// ReplaceInTemplates does so for templates.
func (m *Manager) ReplaceInTemplates(ctx context.Context, stack []string, layer string) (used bool, err error) {
	unlock, err := m.LockTemplates(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	templates, err := m.core.Ledger.Templates(ctx, nil)
	for _, t := range templates {
		if shorter, ok := Replaced(t.Layers, stack, layer); ok {
			t.Layers, used = shorter, true
			if err := m.core.Ledger.UpdateTemplate(ctx, t); err != nil {
				return used, err
			}
			m.Warm(t) // those that are ready lie over the old ones
		}
	}
	return used, err
}

// Replaced is layers with the stack at their bottom replaced.
func Replaced(layers, stack []string, by string) ([]string, bool) {
	n := len(layers) - len(stack)
	if n < 0 || len(stack) == 0 || !slices.Equal(layers[n:], stack) {
		return layers, false
	}
	return append(slices.Clone(layers[:n]), by), true
}

// Shorten has a box at rest lie over what its layers were merged into while it
// ran. The caller has the box's turn and writes the box.
func (m *Manager) Shorten(box *forkbox.Box) {
	m.layers.mu.Lock()
	defer m.layers.mu.Unlock()
	for n := range box.Layers {
		by := m.layers.merged[StackKey(box.Layers[n:])]
		if by != "" {
			box.Layers, _ = Replaced(box.Layers, box.Layers[n:], by)
			return
		}
	}
}

// StackKey tells stacks apart.
func StackKey(layers []string) string { return strings.Join(layers, " ") }

// Prepend is a stack with one more layer on top.
func Prepend(layer string, layers []string) []string {
	return append([]string{layer}, layers...)
}
