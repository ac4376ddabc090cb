package network

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// OpenGate opens the gate of a box whose instance was just started or found,
// before anything is run in it. A box that has none needs none: nothing in it
// gets anywhere, or it shares the host's network, as its owner was told.
func (m *Manager) OpenGate(ctx context.Context, box forkbox.Box, i forkbox.Instance) (forkbox.Gate, error) {
	const op = "open the gate"
	if box.Net != forkbox.NetPolicy {
		return nil, nil
	}
	if m.networks == nil {
		return nil, forkbox.Errorf(forkbox.Unsupported, op, "this daemon opens no gates for boxes").
			Hint("fork it without: forkbox fork %s --net none", box.Name)
	}
	n, ok := i.(forkbox.Networked)
	if !ok {
		return nil, m.notNetworked(op)
	}
	gate, err := m.networks.Open(ctx, box, n, m.hears(box))
	if err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	return gate, nil
}

func (m *Manager) notNetworked(op string) error {
	return forkbox.Errorf(forkbox.Unsupported, op, "provider %s gives boxes no network of their own", m.core.Provider.Name())
}

// CloseNet ends what goes through the network of an instance that has ended, or
// that this engine lets go of.
func (m *Manager) CloseNet(h *core.Handle, a *core.Attached) {
	if m.ports != nil {
		m.ports.Close(h.ID)
	}
	m.CloseGate(h, a)
}

// CloseGate leaves a box without a way out.
func (m *Manager) CloseGate(h *core.Handle, a *core.Attached) {
	gate := m.SetGate(h, a, nil)
	if gate == nil {
		return
	}
	if err := gate.Close(); err != nil {
		m.core.Log.Warn("cannot close the gate of a box", "box", h.ID, "error", err)
	}
}

// shut says whether a box runs without the gate that it should have: nothing
// gets out of it.
func shut(h *core.Handle, a *core.Attached) bool {
	return gateOf(h, a) == nil && h.Box(a).Net == forkbox.NetPolicy
}

// link is what this manager remembers of a running instance.
type link struct {
	gate forkbox.Gate   // that its traffic goes through; nil where it has none; guarded by the handle's mu
	live []forkbox.Port // that are published; guarded by the box's turn
}

var links core.Slot[link]

func gateOf(h *core.Handle, a *core.Attached) forkbox.Gate {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	return links.Of(a).gate
}

// SetGate has traffic of an instance go through a gate, and says which it had.
func (m *Manager) SetGate(h *core.Handle, a *core.Attached, gate forkbox.Gate) (was forkbox.Gate) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	l := links.Of(a)
	was, l.gate = l.gate, gate
	return was
}

// Reopen opens the gate of a box that was found running and whose gate could
// not be opened then. Nothing is run in it before. The caller has its turn.
func (m *Manager) Reopen(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box) error {
	if a == nil || !shut(h, a) {
		return nil
	}
	gate, err := m.OpenGate(ctx, *box, a.Instance)
	if err != nil {
		return err
	}
	m.SetGate(h, a, gate)
	box.Note = Note(*box)
	return m.core.Ledger.UpdateBox(context.WithoutCancel(ctx), *box)
}

// CloseAll does so for all boxes, and writes the last records.
func (m *Manager) CloseAll() {
	m.records.end()
	for _, h := range m.core.AllHandles() {
		if a := h.Current(); a != nil {
			m.CloseNet(h, a)
		}
	}
	m.records.close()
}

// CloseRecords takes no more records.
func (m *Manager) CloseRecords() { m.records.close() }

// HasGates says whether this engine opens gates for boxes.
func (m *Manager) HasGates() bool { return m.networks != nil }

// hears is what the gate of a box tells and asks.
func (m *Manager) hears(box forkbox.Box) Hears {
	id, name, uid, team := box.ID, box.Name, box.Owner.UID, box.Network.Team
	return Hears{
		NextID: func() int64 { return m.connID.Add(1) },
		Record: func(c forkbox.Conn) {
			c.Box, c.Name, c.UID = id, name, uid
			if c.ID == 0 {
				c.ID = m.connID.Add(1)
			}
			if c.Time.IsZero() {
				c.Time = m.core.Now()
			}
			if c.State == forkbox.ConnRefused && c.Times <= 1 {
				m.countRefused(id, c.Exec)
			}
			m.records.put(c)
		},
		Mates: func(mate string) (string, bool) { return m.mate(id, uid, team, mate) },
	}
}

// countRefused notes with an exec that something was refused to it, so that
// the caller who waits for it need not go and look; with all of them, where it is not
// known whose attempt it was.
func (m *Manager) countRefused(box, exec string) {
	h := m.core.HandleOf(box)
	if h == nil {
		return
	}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if h.Attached == nil {
		return
	}
	for id, x := range h.Attached.Execs {
		if exec == "" || exec == id {
			x.Exec.Refused++
		}
	}
}

// mate finds a running box of an owner's team by its name.
func (m *Manager) mate(asker string, uid int, team, name string) (string, bool) {
	if team == "" {
		return "", false
	}
	for _, h := range m.core.AllHandles() {
		a := h.Current()
		if a == nil || a.Owner != uid || h.ID == asker {
			continue
		}
		if b := h.Box(a); b.Name == name && b.Network.Team == team {
			return h.ID, true
		}
	}
	return "", false
}

// PrepareNet makes what the network of a box needs.
func (m *Manager) PrepareNet(box *forkbox.Box) error {
	if box.Net != forkbox.NetPolicy || m.networks == nil {
		return nil
	}
	return forkbox.Wrap("prepare the network", m.networks.Prepare(box))
}

// RemoveNet deletes it.
func (m *Manager) RemoveNet(box forkbox.Box) error {
	if box.Net != forkbox.NetPolicy || m.networks == nil {
		return nil
	}
	return forkbox.Wrap("remove what the network had", m.networks.Remove(box))
}

// NetEnv is what execs need to use the box's network.
func (m *Manager) NetEnv(box forkbox.Box) []string {
	if box.Net != forkbox.NetPolicy || m.networks == nil {
		return nil
	}
	return m.networks.Environment(box)
}
