package services

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
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
	found, _, err := m.machine.Find(ctx, who)
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
	list := make([]*wanted, len(chosen))
	for i, s := range chosen {
		if list[i], err = m.prepare(ctx, who, s, o); err != nil {
			return nil, nil, err
		}
		if err = collide(list[:i], list[i]); err != nil {
			return nil, nil, err
		}
	}
	release, err = m.stillsOf(ctx, who, list, known, o)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range list {
		copies = append(copies, w.copy)
	}
	return copies, release, nil
}

// collide says why a service cannot be in a box with others: in containers they
// have networks of their own, and in the box they have one.
func collide(others []*wanted, w *wanted) error {
	for _, other := range others {
		for _, port := range w.copy.Ports {
			if slices.Contains(other.copy.Ports, port) && (w.service.Container != nil || other.service.Container != nil) {
				return forkbox.Errorf(forkbox.Conflict, "copy the service "+w.service.Name, "in a box it and %s would both listen on port %d", other.service.Name, port).
					Hint("take one of them, or have one listen on another port in its container")
			}
		}
	}
	return nil
}

// prepare describes one service as a box will have it, but for its data.
func (m *Manager) prepare(ctx context.Context, who forkbox.Owner, s forkbox.Service, o *order) (*wanted, error) {
	start, err := o.startOf(who, s, func() (forkbox.ServiceStart, error) {
		return m.machine.StartOf(ctx, s, func(env []string) []string {
			kept, _ := m.core.Secrets(env, nil)
			return kept
		})
	})
	if err != nil {
		return nil, err
	}
	c := forkbox.BoxService{Name: s.Name, Recipe: s.Recipe, Ports: s.PortsInBox(), Sockets: s.Sockets, Start: start, After: o.after[s.Name]}
	if s.Container != nil {
		c.After, c.Hosts = slices.Concat(s.Container.After, c.After), s.Container.Hosts
	}
	c.Data, err = m.dataOf(ctx, who, s, o)
	return &wanted{service: s, copy: c}, err
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

// goesBy says whether a service is meant: by its name, that of its recipe or of the
// project that it belongs to, a port, or a directory of its data; db is any database.
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
		return s.Recipe == "postgresql" || s.Recipe == "mariadb" || s.Name == name
	}
	return s.Name == name || s.Recipe == name || s.Container != nil && name == s.Container.Project
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
