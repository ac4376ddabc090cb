package services

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// ListServices lists what listens on this machine that a user may know of, with how
// a box would get a copy of each.
func (m *Manager) ListServices(ctx context.Context, who forkbox.Owner) (found []forkbox.Service, notes []string, err error) {
	const op = "look for services"
	if err := m.needMachine(op); err != nil {
		return nil, nil, err
	}
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	found, notes, err = m.machine.Find(ctx, who)
	if err != nil {
		return nil, nil, err
	}
	known, err := m.core.Ledger.Stills(ctx, &who.UID)
	if err != nil {
		return nil, nil, err
	}
	for i := range found {
		m.foresee(ctx, who.UID, &found[i], known)
	}
	return found, notes, nil
}

// foresee says how a box would get a copy of a service. What cannot be told now is
// told when a copy is asked for.
func (m *Manager) foresee(ctx context.Context, uid int, s *forkbox.Service, known []forkbox.Still) {
	p, ok := m.core.Provider.(core.Stilled)
	if !ok || len(s.Data) == 0 && s.Container == nil {
		return
	}
	paths, err := m.machine.Paths(ctx, *s, uid)
	if err != nil {
		return
	}
	for _, still := range known {
		if still.Service == s.Name && still.Of == (&order{}).identity(*s, paths) && m.core.Now().Sub(still.Taken) < maxStale {
			s.Still = &still.Taken
		}
	}
	if way, pause, err := m.machine.Predict(ctx, []forkbox.Service{*s}, p.StillDir()); err == nil {
		s.Way, s.Pause = way, pause
	}
}
