package services

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Services that are named together begin with data of one moment: what one of them
// has written because of another is never there without its cause. A still that is
// young enough is used again only if each of them has one of that same moment;
// otherwise all are taken anew. Stills that were taken together are told by their
// time, which is the same.

// wanted is a service that a box gets a copy of.
type wanted struct {
	service forkbox.Service
	copy    forkbox.BoxService
	still   forkbox.Still // while it is taken

	raw, settled string // its layers
	put          func(path string) (string, error)
}

// named is what an error is about.
func named(list []*wanted) string {
	var names []string
	for _, w := range list {
		names = append(names, w.service.Name)
	}
	if len(names) == 1 {
		return "copy the service " + names[0]
	}
	return "copy the services " + strings.Join(names, ", ")
}

// stillsOf gives services that keep data stills of one moment: young ones, or new
// ones.
func (m *Manager) stillsOf(ctx context.Context, who forkbox.Owner, list []*wanted, known []forkbox.Still, o *order) (release func(), err error) {
	list = slices.DeleteFunc(slices.Clone(list), func(w *wanted) bool { return len(w.copy.Data) == 0 })
	if len(list) == 0 {
		return func() {}, nil
	}
	if m.useAgain(list, known, o) {
		release = m.shelf.KeepLayers(layersOf(list)...)
	} else if release, err = m.take(ctx, who, list, o); err != nil {
		return nil, forkbox.Wrap(named(list), err)
	}
	for _, w := range list {
		w.copy.Still, w.copy.Taken, w.copy.Layers = w.still.ID, &w.still.Taken, w.still.Layers
	}
	return release, nil
}

// useAgain finds the youngest moment that there are stills of for all services, each
// young enough.
func (m *Manager) useAgain(list []*wanted, known []forkbox.Still, o *order) bool {
	for _, first := range slices.Backward(known) {
		missing := slices.ContainsFunc(list, func(w *wanted) bool {
			i := slices.IndexFunc(known, func(s forkbox.Still) bool {
				return s.Service == w.service.Name && s.Of == o.identity(w.service, w.copy.Data) && s.Taken.Equal(first.Taken) &&
					m.core.Now().Sub(s.Taken) < o.maxStale(w.service)
			})
			if i >= 0 {
				w.still = known[i]
			}
			return i < 0
		})
		if !missing {
			return true
		}
	}
	return false
}

func layersOf(list []*wanted) (all []string) {
	for _, w := range list {
		all = append(all, w.still.Layers...)
	}
	return all
}

// take copies the data of services into a layer each, and has a copy of each
// service recover from that once, for all boxes that will begin with it.
func (m *Manager) take(ctx context.Context, who forkbox.Owner, list []*wanted, o *order) (_ func(), err error) {
	p, ok := m.core.Provider.(core.Stilled)
	if !ok {
		return nil, forkbox.Errorf(forkbox.Unsupported, "take a still", "provider %s keeps none", m.core.Provider.Name())
	}
	var layers []string
	for _, w := range list {
		w.raw, w.settled = core.NewID(), core.NewID()
		layers = append(layers, w.raw, w.settled)
	}
	release := m.shelf.KeepLayers(layers...)
	defer func() {
		if err != nil {
			release()
			m.shelf.SweepSoon()
		}
	}()
	// Known first: what a crash leaves of it is swept.
	if err := m.core.Ledger.KnowLayers(ctx, layers...); err != nil {
		return nil, err
	}
	copied, err := m.copyTogether(ctx, p, who, list, o)
	if err != nil {
		return nil, err
	}
	taken := m.core.Now()
	for _, w := range list {
		part := copied.of(w.copy.Data)
		w.still = forkbox.Still{
			ID: core.NewID(), UID: who.UID, Service: w.service.Name, Of: o.identity(w.service, w.copy.Data), Taken: taken, Good: o.kept(w.service),
			Way: part.Way, Paused: part.Paused, Bytes: part.Bytes, Layers: []string{w.raw},
		}
		if err := m.settle(ctx, who, w.copyOn(w.still), &w.still, w.settled, o.settings[w.service.Name]); err != nil {
			return nil, forkbox.Wrap("copy the service "+w.service.Name, err)
		}
	}
	// None is for use before all are.
	for _, w := range list {
		if err := m.core.Ledger.SaveStill(ctx, w.still); err != nil {
			return nil, err
		}
	}
	return release, nil
}

func (w *wanted) copyOn(still forkbox.Still) forkbox.BoxService {
	c := w.copy
	c.Still, c.Layers = still.ID, still.Layers
	return c
}

// copyTogether copies the data of services as it is at one moment, each into its
// layer: all are begun before the services are stopped, and kept once they go on.
func (m *Manager) copyTogether(ctx context.Context, p core.Stilled, who forkbox.Owner, list []*wanted, o *order) (copied Copied, err error) {
	var into func(rest []*wanted) error
	into = func(rest []*wanted) error {
		if len(rest) == 0 {
			copied, err = m.copyInto(ctx, list, o)
			return err
		}
		w := rest[0]
		return p.TakeStill(ctx, w.raw, who, w.copy.Data, func(put func(string) (string, error)) error {
			w.put = put
			return into(rest[1:])
		})
	}
	err = into(list)
	return copied, err
}

// copyInto copies it. What several services have, as two programs do that have one
// database open, is copied once while they stand still, and then from that copy.
func (m *Manager) copyInto(ctx context.Context, list []*wanted, o *order) (Copied, error) {
	var all []forkbox.Service
	most := o.maxPause(list[0].service)
	for _, w := range list {
		all = append(all, w.service)
		most = min(most, o.maxPause(w.service)) // they stand still together
	}
	first := map[string]*wanted{} // that a path was copied for
	at := map[string]string{}
	copied, err := m.machine.Copy(ctx, all, CopySpec{MaxPause: most, Settings: o.settings, Put: func(path string) (to string, err error) {
		i := slices.IndexFunc(list, func(w *wanted) bool { return slices.Contains(w.copy.Data, path) })
		if i < 0 {
			return "", forkbox.Errorf(forkbox.Busy, "copy the service's data", "it has come to have data in %s meanwhile", path).Hint("try again")
		}
		first[path] = list[i]
		at[path], err = list[i].put(path)
		return at[path], err
	}})
	if err != nil {
		return copied, err
	}
	for _, w := range list {
		for _, path := range w.copy.Data {
			if first[path] == w {
				continue
			}
			if err := m.copyAgain(ctx, w, path, at); err != nil {
				return copied, err
			}
		}
	}
	return copied, nil
}

// copyAgain copies a path of one service from where it was copied to for another.
func (m *Manager) copyAgain(ctx context.Context, w *wanted, path string, at map[string]string) error {
	for whole, to := range at {
		if !forkbox.Within(path, whole) {
			continue
		}
		rel, err := filepath.Rel(whole, path)
		if err != nil {
			return err
		}
		still := forkbox.Service{Name: w.service.Name, Data: []forkbox.ServiceData{{Path: filepath.Join(to, rel)}}}
		_, err = m.machine.Copy(ctx, []forkbox.Service{still}, CopySpec{Put: func(string) (string, error) { return w.put(path) }})
		return err
	}
	return nil // there is none: the layer says so
}
