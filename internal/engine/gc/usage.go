package gc

import (
	"cmp"
	"context"
	"slices"

	"github.com/forkbox/forkbox"
)

// measured is a provider that knows what its files take.
type measured interface {
	Usage(ctx context.Context) (forkbox.Stored, error)
}

// Usage says what takes the space of who's boxes.
func (m *Manager) Usage(ctx context.Context, who forkbox.Owner) (u forkbox.Usage, err error) {
	const op = "measure"
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return u, err
	}
	defer end()
	h, err := m.holdings(ctx, op)
	if err != nil {
		return u, err
	}
	h.keep(who.UID)
	u = forkbox.Usage{Total: h.of(who.UID), Shared: h.shared()}
	if who.UID == m.core.UID() {
		u.Total, u.Other = u.Total+h.stored.Other, h.stored.Other
	}
	for _, b := range h.boxes {
		if b.Owner.UID == who.UID {
			u.Items = append(u.Items, h.boxItem(b))
		}
	}
	for _, s := range h.snapshots {
		if s.Owner.UID == who.UID {
			u.Items = append(u.Items, h.item("snapshot", s.ID, s.BoxName+"@"+s.Name, s.Layers, ""))
		}
	}
	for _, t := range h.templates {
		if t.Owner.UID == who.UID {
			u.Items = append(u.Items, h.item("template", t.ID, t.Name, t.Layers, t.Base.Root))
		}
	}
	for _, s := range h.stills {
		if s.UID == who.UID {
			u.Items = append(u.Items, h.item("still", s.ID, s.Service, s.Layers, ""))
		}
	}
	slices.SortStableFunc(u.Items, func(a, b forkbox.UsedItem) int { return cmp.Compare(b.Own, a.Own) })
	return u, nil
}

// holdings is everything there is, what it takes, and who needs which layer.
type holdings struct {
	stored    forkbox.Stored
	boxes     []forkbox.Box
	snapshots []forkbox.Snapshot
	templates []forkbox.Template
	stills    []forkbox.Still
	// users are, by layer or root, the ids of what needs it.
	users map[string]map[string]bool
}

func (m *Manager) holdings(ctx context.Context, op string) (h holdings, err error) {
	p, ok := m.core.Provider.(measured)
	if !ok {
		return h, forkbox.Errorf(forkbox.Unsupported, op, "provider %s does not know", m.core.Provider.Name())
	}
	if h.boxes, err = m.core.Ledger.Boxes(ctx, nil); err != nil {
		return h, err
	}
	if h.snapshots, err = m.core.Ledger.SnapshotsOf(ctx, nil); err != nil {
		return h, err
	}
	if h.templates, err = m.core.Ledger.Templates(ctx, nil); err != nil {
		return h, err
	}
	if h.stills, err = m.core.Ledger.Stills(ctx, nil); err != nil {
		return h, err
	}
	h.count()
	if h.stored, err = p.Usage(ctx); err == nil {
		m.tally.keepDisk(&h)
	}
	return h, forkbox.Wrap(op, err)
}

func (h *holdings) count() {
	h.users = map[string]map[string]bool{}
	use := func(id string, things ...string) {
		for _, t := range things {
			if h.users[t] == nil {
				h.users[t] = map[string]bool{}
			}
			h.users[t][id] = true
		}
	}
	for _, b := range h.boxes {
		use(b.ID, b.Layers...)
		use(b.ID, b.StillLayers()...)
		use(b.ID, b.Base.Root)
	}
	for _, s := range h.snapshots {
		use(s.ID, s.Layers...)
	}
	for _, t := range h.templates {
		use(t.ID, t.Layers...)
		use(t.ID, t.Base.Root)
		for _, s := range t.Services {
			use(t.ID, s.Layers...)
		}
	}
	for _, s := range h.stills {
		use(s.ID, s.Layers...)
	}
}

// keep leaves what is one owner's.
func (h *holdings) keep(uid int) {
	h.boxes = slices.DeleteFunc(h.boxes, func(b forkbox.Box) bool { return b.Owner.UID != uid })
	h.snapshots = slices.DeleteFunc(h.snapshots, func(s forkbox.Snapshot) bool { return s.Owner.UID != uid })
	h.templates = slices.DeleteFunc(h.templates, func(t forkbox.Template) bool { return t.Owner.UID != uid })
	h.stills = slices.DeleteFunc(h.stills, func(s forkbox.Still) bool { return s.UID != uid })
	h.count()
}

// of is what one owner's things take, each layer and root once.
func (h *holdings) of(uid int) (sum int64) {
	mine := *h
	mine.boxes, mine.snapshots, mine.templates = slices.Clone(h.boxes), slices.Clone(h.snapshots), slices.Clone(h.templates)
	mine.stills = slices.Clone(h.stills)
	mine.keep(uid)
	for _, b := range mine.boxes {
		sum += h.stored.Boxes[b.ID].All
	}
	for id := range mine.users {
		sum += h.stored.Layers[id].All + h.stored.Roots[id].All
	}
	return sum
}

// shared is what more than one thing needs, each once.
func (h *holdings) shared() (sum int64) {
	for _, kind := range []map[string]forkbox.StoredBytes{h.stored.Layers, h.stored.Roots} {
		for id, b := range kind {
			if len(h.users[id]) > 1 {
				sum += b.All
			}
		}
	}
	return sum
}

// boxItem: a box goes with its snapshots, so what only they need is its own.
func (h *holdings) boxItem(b forkbox.Box) forkbox.UsedItem {
	mine, things := map[string]bool{b.ID: true}, slices.Concat(b.Layers, b.StillLayers())
	for _, s := range h.snapshots {
		if s.Box == b.ID {
			mine[s.ID] = true
			things = append(things, s.Layers...)
		}
	}
	item := forkbox.UsedItem{Kind: "box", ID: b.ID, Name: b.Name}
	top := h.stored.Boxes[b.ID]
	item.Own, item.All, item.Files = top.Own, top.All, top.Files
	h.add(&item, mine, things, b.Base.Root)
	return item
}

func (h *holdings) item(kind, id, name string, layers []string, root string) forkbox.UsedItem {
	item := forkbox.UsedItem{Kind: kind, ID: id, Name: name}
	h.add(&item, map[string]bool{id: true}, layers, root)
	return item
}

// add counts layers and a root for something; what only mine need is
// its own.
func (h *holdings) add(item *forkbox.UsedItem, mine map[string]bool, layers []string, root string) {
	seen := map[string]bool{}
	count := func(id string, b forkbox.StoredBytes) {
		if seen[id] {
			return
		}
		seen[id] = true
		item.All, item.Files = item.All+b.All, item.Files+b.Files
		for user := range h.users[id] {
			if !mine[user] {
				return
			}
		}
		item.Own += b.Own
	}
	for _, l := range layers {
		count(l, h.stored.Layers[l])
	}
	if root != "" {
		count(root, h.stored.Roots[root])
	}
}
