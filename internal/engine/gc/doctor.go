package gc

import (
	"context"
	"fmt"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// storage is a provider that can say which boxes it keeps data of.
type storage interface {
	Stored(ctx context.Context) ([]string, error)
}

// Doctor tries what this host can do.
func (m *Manager) Doctor(ctx context.Context) []forkbox.Check {
	ctx, end, err := m.core.Begin(ctx, "check this host")
	if err != nil {
		return []forkbox.Check{{Name: "daemon", Status: forkbox.Fail, Detail: err.Error()}}
	}
	defer end()
	checks := append(m.core.Provider.Checks(ctx), m.checkLedger(ctx))
	if p, ok := m.core.Provider.(core.Layered); ok {
		name, why := p.Storage()
		checks = append(checks, forkbox.Check{Name: "layers", Status: forkbox.OK, Detail: name + ": " + why})
	}
	return append(checks, m.checkRetention())
}

// deviating is a provider that knows what differs in its boxes from the host.
type deviating interface{ Deviations() []forkbox.Deviation }

// Deviations is what differs in a box from this host, and why.
func (m *Manager) Deviations() []forkbox.Deviation {
	if p, ok := m.core.Provider.(deviating); ok {
		return p.Deviations()
	}
	return []forkbox.Deviation{}
}

func (m *Manager) checkRetention() forkbox.Check {
	now := m.retention.Load()
	if now.RetentionErr != nil {
		return forkbox.Check{Name: "retention", Status: forkbox.Warn, Detail: "nothing is removed by itself: " + now.RetentionErr.Error(),
			Remedy: "correct FORKBOX_RETENTION and restart the daemon"}
	}
	return forkbox.Check{Name: "retention", Status: forkbox.OK, Detail: now.Retention.String()}
}

// HiddenFrom lists the secret paths that the boxes of who do not see.
func (m *Manager) HiddenFrom(who forkbox.Owner) []string { return m.core.Hidden(who.Home) }

func (m *Manager) checkLedger(ctx context.Context) forkbox.Check {
	strays, layers, err := m.unknown(ctx)
	switch {
	case err != nil:
		return forkbox.Check{Name: "ledger", Status: forkbox.Fail, Detail: err.Error(),
			Remedy: "make sure the disk it lies on is whole and has space"}
	case len(strays)+len(layers) > 0:
		return forkbox.Check{Name: "ledger", Status: forkbox.Warn,
			Detail: fmt.Sprintf("it does not know %d boxes and %d layers that are stored: %v", len(strays), len(layers), slices.Concat(strays, layers)),
			Remedy: "bring them back: forkbox repair\nor restore the ledger from a backup; nothing of them is deleted meanwhile"}
	}
	return forkbox.Check{Name: "ledger", Status: forkbox.OK, Detail: "it knows every box and layer that is stored"}
}

// strays are boxes that are stored and not in the ledger. That takes a power
// failure, which can lose the ledger's last writes, or a ledger that was lost
// altogether. In the second case they are a user's work, so they are shown,
// not removed.
func (m *Manager) strays(ctx context.Context) (strays []string, err error) {
	s, ok := m.core.Provider.(storage)
	if !ok {
		_, err := m.core.Ledger.Boxes(ctx, nil, forkbox.Running)
		return nil, err
	}
	// Listed first: what is created meanwhile is in the ledger by then.
	stored, err := s.Stored(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range stored {
		if _, err := m.core.Ledger.Box(ctx, id); core.IsNotFound(err) {
			strays = append(strays, id)
		} else if err != nil {
			return nil, err
		}
	}
	return strays, nil
}
