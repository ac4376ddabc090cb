package services

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// ControlService starts, stops or restarts a service of a box. One that was stopped
// does not come back with the box. What it comes after is started with it.
func (m *Manager) ControlService(ctx context.Context, who forkbox.Owner, ref, name, do string) (forkbox.Box, error) {
	op := do + " the service " + name
	if do != "start" && do != "stop" && do != "restart" {
		return forkbox.Box{}, forkbox.Errorf(forkbox.Invalid, "control a service", "%q is nothing that can be done to it", do).
			Hint("it is start, stop or restart")
	}
	box, err := m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		s := box.FindService(name)
		if s == nil {
			return noService(*box, name)
		}
		a, err := m.boxes.Find(ctx, h, box)
		if err != nil {
			return err
		}
		if do != "start" && a != nil {
			if err := m.stopOne(ctx, h, a, *s); err != nil {
				return err
			}
		}
		if do == "stop" {
			return m.want(ctx, h, a, box, s, false)
		}
		return m.startWithOthers(ctx, h, a, box, name)
	})
	if err != nil {
		return box, err
	}
	return m.Describe(ctx, box)
}

// startWithOthers starts a service, and before it those that it comes after and that
// do not run.
func (m *Manager) startWithOthers(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box, name string) error {
	needed := needs(box.Services, name)
	for i := range box.Services {
		if s := &box.Services[i]; needed[s.Name] {
			if err := m.want(ctx, h, a, box, s, true); err != nil {
				return err
			}
		}
	}
	if a == nil {
		_, err := m.boxes.Wake(ctx, h, box) // which brings them up
		return err
	}
	for _, s := range inOrder(box.Services) {
		if !needed[s.Name] || runningAs(h, a, s.Name) != nil {
			continue
		}
		if err := m.bringUp(ctx, h, a, *box, s); err != nil {
			return err
		}
	}
	return nil
}

// needs are a service and those that it comes after, and those that these do.
func needs(list []forkbox.BoxService, name string) map[string]bool {
	all := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		for _, s := range list {
			if s.Name == name && !all[name] {
				all[name] = true
				for _, other := range s.After {
					add(other)
				}
			}
		}
	}
	add(name)
	return all
}

// want writes down whether a service is to come up with its box.
func (m *Manager) want(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box, s *forkbox.BoxService, up bool) error {
	if s.Stopped == !up {
		return nil
	}
	s.Stopped = !up
	if err := m.core.Ledger.UpdateBox(ctx, *box); err != nil {
		return err
	}
	if a != nil {
		h.Govern(a, *box)
	}
	return nil
}

// stopOne has a service end itself, and ends it if it does not.
func (m *Manager) stopOne(ctx context.Context, h *core.Handle, a *core.Attached, s forkbox.BoxService) error {
	x := runningAs(h, a, s.Name)
	if x == nil {
		return nil
	}
	h.SetKilled(x, &core.Ending{Cause: forkbox.CauseStopped, By: core.ByForkbox, Why: "the service was stopped"})
	asked, cancel := context.WithTimeout(ctx, m.boxes.StopGrace)
	defer cancel()
	m.end(asked, a, x, s)
	if runningAs(h, a, s.Name) == nil {
		return nil
	}
	return a.Instance.Kill(ctx, x.Exec.ID, 0)
}

func noService(box forkbox.Box, name string) error {
	err := forkbox.Errorf(forkbox.NotFound, "find the service", "%s has no service %q", box.Name, name)
	for _, s := range box.Services {
		err = err.Hint("it has %s", s.Name)
	}
	if len(box.Services) == 0 {
		err = err.Hint("a box gets copies of services when it is made: forkbox new --with %s", name)
	}
	return err
}

// Describe fills in how the services of a box do.
func (m *Manager) Describe(ctx context.Context, box forkbox.Box) (forkbox.Box, error) {
	if len(box.Services) == 0 {
		return box, nil
	}
	list, err := m.core.Ledger.Execs(ctx, box.ID)
	if err != nil {
		return box, err
	}
	latest := map[string]forkbox.Exec{}
	for _, x := range list {
		latest[x.Label] = x
	}
	shown := append([]forkbox.BoxService(nil), box.Services...)
	for i := range shown {
		s := &shown[i]
		x, ran := latest[forkbox.ServiceLabel+s.Name]
		s.Exec = x.ID
		probe, probed := latest["probe:"+s.Name]
		switch {
		case ran && x.Exit == nil && probed && probe.Exit == nil:
			s.State = "starting"
		case ran && x.Exit == nil:
			s.State = "ready"
		case s.Stopped:
			s.State = "stopped"
		case box.State != forkbox.Running:
			s.State = "resting"
		default:
			s.State = "failed"
		}
	}
	box.Services = shown
	return box, nil
}
