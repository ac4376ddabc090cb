package services

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/forks"
)

const (
	maxPause = 500 * time.Millisecond // unless the caller says otherwise
	maxStale = 15 * time.Minute       // an older still is taken anew
)

// CreateWith makes a box that has copies of services, and has them come up. A box
// whose services do not is there all the same, with their logs.
func (m *Manager) CreateWith(ctx context.Context, who forkbox.Owner, spec forks.CreateSpec) (forkbox.Box, error) {
	if len(spec.With) == 0 {
		return m.forks.Create(ctx, who, spec)
	}
	env, _ := m.core.Secrets(spec.Env, spec.AllowSecrets)
	copies, release, err := m.provide(ctx, who, &order{with: spec.With, pause: spec.Pause, settings: spec.Settings, letIn: spec.NetWish.AllLetIn(), env: env,
		places: slices.Concat(m.core.Places(spec.Env, who.Home, spec.Dir, spec.AllowSecrets), spec.Places)})
	if err != nil {
		return forkbox.Box{}, err
	}
	defer release()
	spec.Services = copies
	box, err := m.forks.Create(ctx, who, spec)
	if err != nil {
		return box, err
	}
	return m.execs.Rouse(ctx, who, box.ID)
}

// Refresh takes the data of services anew, for the boxes to come.
func (m *Manager) Refresh(ctx context.Context, who forkbox.Owner, spec forks.CreateSpec) ([]forkbox.Still, error) {
	ctx, end, err := m.core.Begin(ctx, "copy services")
	if err != nil {
		return nil, err
	}
	defer end()
	env, _ := m.core.Secrets(spec.Env, nil)
	copies, release, err := m.provide(ctx, who, &order{with: spec.With, pause: spec.Pause, settings: spec.Settings, env: env, anew: true,
		places: m.core.Places(spec.Env, who.Home, spec.Dir, nil)})
	if err != nil {
		return nil, err
	}
	defer release()
	all, err := m.core.Ledger.Stills(ctx, &who.UID)
	return slices.DeleteFunc(all, func(s forkbox.Still) bool {
		return !slices.ContainsFunc(copies, func(c forkbox.BoxService) bool { return c.Still == s.ID })
	}), err
}

// provide finds services by name, and a still of each that keeps data. release is
// called when a box has them, or none will.
func (m *Manager) provide(ctx context.Context, who forkbox.Owner, o *order) (copies []forkbox.BoxService, release func(), err error) {
	const op = "copy services"
	if err := m.needMachine(op); err != nil {
		return nil, nil, err
	}
	if err := forkbox.CheckServices(o.settings); err != nil {
		return nil, nil, err
	}
	found, err := m.machine.Find(ctx, who.UID)
	if err != nil {
		return nil, nil, err
	}
	chosen, err := o.choose(op, who, found)
	if err != nil {
		return nil, nil, err
	}
	// One at a time: of two callers who want the same the second finds it taken.
	select {
	case m.taking <- struct{}{}:
		defer func() { <-m.taking }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	return m.copiesOf(ctx, who, chosen, o)
}

func (m *Manager) copiesOf(ctx context.Context, who forkbox.Owner, chosen []forkbox.Service, o *order) (copies []forkbox.BoxService, release func(), err error) {
	known, err := m.core.Ledger.Stills(ctx, &who.UID)
	if err != nil {
		return nil, nil, err
	}
	m.forgetOld(ctx, known)
	releases := []func(){}
	release = func() {
		for _, r := range releases {
			r()
		}
	}
	for _, s := range chosen {
		c, kept, err := m.copyOf(ctx, who, s, known, o)
		if err != nil {
			release()
			return nil, nil, err
		}
		releases = append(releases, kept)
		copies = append(copies, c)
	}
	return copies, release, nil
}

// copyOf is one service as a box will have it.
func (m *Manager) copyOf(ctx context.Context, who forkbox.Owner, s forkbox.Service, known []forkbox.Still, o *order) (c forkbox.BoxService, release func(), err error) {
	start, err := o.startOf(who, s, func() (forkbox.ServiceStart, error) {
		return m.machine.StartOf(ctx, s, func(env []string) []string {
			kept, _ := m.core.Secrets(env, nil)
			return kept
		})
	})
	if err != nil {
		return c, nil, err
	}
	c = forkbox.BoxService{Name: s.Name, Recipe: s.Recipe, Ports: s.Ports, Sockets: s.Sockets, Start: start, After: o.after[s.Name]}
	if c.Data, err = m.dataOf(ctx, who, s, o); err != nil {
		return c, nil, err
	}
	if len(c.Data) == 0 {
		return c, func() {}, nil
	}
	still, release, err := m.stillOf(ctx, who, s, c, known, o)
	if err != nil {
		return c, nil, forkbox.Wrap("copy the service "+s.Name, err)
	}
	c.Still, c.Taken, c.Layers = still.ID, &still.Taken, still.Layers
	return c, release, nil
}

// stillOf finds one that is young enough, or takes one.
func (m *Manager) stillOf(ctx context.Context, who forkbox.Owner, s forkbox.Service, c forkbox.BoxService, known []forkbox.Still, o *order) (forkbox.Still, func(), error) {
	for _, still := range slices.Backward(known) {
		if still.Service == s.Name && still.Of == o.identity(s, c.Data) && m.core.Now().Sub(still.Taken) < o.maxStale(s) {
			return still, m.shelf.KeepLayers(still.Layers...), nil
		}
	}
	return m.take(ctx, who, s, c, o)
}

// take copies the data of a service into a layer, and has a copy of the service
// recover from that once, for all boxes that will begin with it.
func (m *Manager) take(ctx context.Context, who forkbox.Owner, s forkbox.Service, c forkbox.BoxService, o *order) (still forkbox.Still, release func(), err error) {
	p, ok := m.core.Provider.(core.Stilled)
	if !ok {
		return still, nil, forkbox.Errorf(forkbox.Unsupported, "take a still", "provider %s keeps none", m.core.Provider.Name())
	}
	layer, settled := core.NewID(), core.NewID()
	kept := m.shelf.KeepLayers(layer, settled)
	defer func() {
		if err != nil {
			kept()
			m.shelf.SweepSoon()
		}
	}()
	// Known first: what a crash leaves of it is swept.
	if err := m.core.Ledger.KnowLayers(ctx, layer, settled); err != nil {
		return still, nil, err
	}
	var copied Copied
	err = p.TakeStill(ctx, layer, who, c.Data, func(put func(string) (string, error)) (err error) {
		copied, err = m.machine.Copy(ctx, []forkbox.Service{s}, CopySpec{Put: put, MaxPause: o.maxPause(s), Way: o.settings[s.Name].Copy, Chosen: len(o.settings[s.Name].Data) > 0})
		return err
	})
	if err != nil {
		return still, nil, err
	}
	still = forkbox.Still{
		ID: core.NewID(), UID: who.UID, Service: s.Name, Of: o.identity(s, c.Data), Taken: m.core.Now(), Good: o.kept(s),
		Way: copied.Way, Paused: copied.Paused, Bytes: copied.Bytes, Layers: []string{layer},
	}
	if err := m.settle(ctx, who, c, &still, settled, o.settings[s.Name]); err != nil {
		return still, nil, err
	}
	return still, kept, m.core.Ledger.SaveStill(ctx, still)
}

// forgetOld forgets stills that nothing new will begin with. Boxes keep the layers
// that they have.
func (m *Manager) forgetOld(ctx context.Context, known []forkbox.Still) {
	forgot := false
	for _, s := range known {
		if m.core.Now().Sub(s.Taken) < max(maxStale, s.Good) {
			continue
		}
		if err := m.core.Ledger.DeleteStill(ctx, s.ID); err != nil {
			m.core.Log.WarnContext(ctx, "cannot forget an old still", "still", s.ID, "error", err)
			continue
		}
		forgot = true
	}
	if forgot {
		m.shelf.SweepSoon()
	}
}

// SweepStills forgets the old ones of all users.
func (m *Manager) SweepStills(ctx context.Context) {
	select {
	case m.taking <- struct{}{}:
		defer func() { <-m.taking }()
	default:
		return // whoever takes one forgets the old ones as well
	}
	if known, err := m.core.Ledger.Stills(ctx, nil); err == nil {
		m.forgetOld(ctx, known)
	}
}

// goesBy says whether a service is meant: by its name, that of its recipe, a port,
// or a directory of its data; db is any database.
func goesBy(s forkbox.Service, name string) bool {
	port, err := strconv.Atoi(name)
	switch {
	case name == "all":
		return true
	case err == nil:
		return slices.Contains(s.Ports, port)
	case strings.HasPrefix(name, "/"):
		return slices.ContainsFunc(s.Data, func(d forkbox.ServiceData) bool { return d.Path == name })
	case name == "db":
		return s.Recipe == "postgresql" || s.Recipe == "mariadb"
	}
	return s.Name == name || s.Recipe == name
}

func namesOf(found []forkbox.Service) string {
	if len(found) == 0 {
		return "forkbox services lists what runs"
	}
	names := make([]string, len(found))
	for i, s := range found {
		names[i] = s.Name
	}
	return "there are: " + strings.Join(names, ", ") + "; or say a port, db or all"
}

// settle starts a copy of the service once, in a box of its own, and ends it as it
// wants to be ended: what recovery and the clean end write is another layer of the
// still. Without that every box would recover by itself, which opens and so copies
// every file. It also proves that the still is whole before any box has it.
func (m *Manager) settle(ctx context.Context, who forkbox.Owner, c forkbox.BoxService, still *forkbox.Still, layer string, set forkbox.ServiceSettings) (err error) {
	p, ok := m.core.Provider.(settler)
	if !ok && set.Settle != "" {
		return forkbox.Errorf(forkbox.Unsupported, "settle the data", "provider %s cannot", m.core.Provider.Name())
	}
	// What comes after another has nothing to start on here.
	if c.Stopped = len(c.After) > 0; !ok || c.Stopped && set.Settle == "" {
		return nil
	}
	c.Still, c.Layers = still.ID, still.Layers
	box, err := m.forks.Create(ctx, who, forks.CreateSpec{
		Name: "settles-" + still.ID[:8], Dir: "/", Env: []string{}, Net: string(forkbox.NetNone), Services: []forkbox.BoxService{c}, Settles: still.ID, Passing: true,
	})
	if err != nil {
		return err
	}
	defer func() {
		if gone := m.boxes.Remove(context.WithoutCancel(ctx), who, box.ID, true); err == nil {
			err = gone
		}
	}()
	if _, err := m.execs.Rouse(ctx, who, box.ID); err != nil {
		return err
	}
	if err := m.runSettle(ctx, who, box, c, set); err != nil {
		return err
	}
	if err := m.endedWell(ctx, who, box.ID, c); err != nil {
		return err
	}
	if err := p.SettleStill(ctx, layer, who, box, c.Data); err != nil {
		return err
	}
	still.Layers, still.Ready = append([]string{layer}, still.Layers...), !c.Stopped
	return nil
}

// settler is a provider that can make a layer of what a box wrote at some paths.
type settler interface {
	SettleStill(ctx context.Context, layer string, owner forkbox.Owner, box forkbox.Box, paths []string) error
}

// endedWell stops a box and says whether its service ended as it should.
func (m *Manager) endedWell(ctx context.Context, who forkbox.Owner, box string, c forkbox.BoxService) error {
	grace := c.Start.Patience
	if _, err := m.boxes.Stop(ctx, who, box, &grace); err != nil {
		return err
	}
	list, err := m.execs.Execs(ctx, who, box)
	if err != nil {
		return err
	}
	for _, x := range list {
		if x.Label == forkbox.ServiceLabel+c.Name && (x.Exit == nil || x.Exit.Signal == "SIGKILL") {
			return errors.New("the copy did not end when it was asked to, so that what it left cannot be trusted")
		}
	}
	return nil
}
