package engine

import (
	"context"

	"github.com/forkbox/forkbox"
)

// openGate opens the gate of a box whose instance was just started or found,
// before anything is run in it. A box that has none needs none: nothing in it
// gets anywhere, or it shares the host's network and everybody knows.
func (e *Engine) openGate(ctx context.Context, box forkbox.Box, i forkbox.Instance) (forkbox.Gate, error) {
	const op = "open the gate"
	if box.Net != forkbox.NetPolicy {
		return nil, nil
	}
	if e.networks == nil {
		return nil, forkbox.Errorf(forkbox.Unsupported, op, "this daemon opens no gates for boxes").
			Hint("fork it without: forkbox fork %s --net none", box.Name)
	}
	n, ok := i.(forkbox.Networked)
	if !ok {
		return nil, e.notNetworked(op)
	}
	gate, err := e.networks.Open(ctx, box, n, e.hears(box))
	if err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	return gate, nil
}

func (e *Engine) notNetworked(op string) error {
	return forkbox.Errorf(forkbox.Unsupported, op, "provider %s gives boxes no network of their own", e.provider.Name())
}

// closeNet ends what goes through the network of an instance that has ended, or
// that this engine lets go of.
func (e *Engine) closeNet(h *handle, a *attached) {
	if e.ports != nil {
		e.ports.Close(h.id)
	}
	e.closeGate(h, a)
}

// closeGate leaves a box without a way out.
func (e *Engine) closeGate(h *handle, a *attached) {
	gate := e.setGate(h, a, nil)
	if gate == nil {
		return
	}
	if err := gate.Close(); err != nil {
		e.log.Warn("cannot close the gate of a box", "box", h.id, "error", err)
	}
}

// shut says whether a box runs without the gate that it should have: nothing
// gets out of it.
func shut(h *handle, a *attached) bool {
	return gateOf(h, a) == nil && h.box(a).Net == forkbox.NetPolicy
}

// link is what this manager remembers of a running instance.
type link struct {
	gate forkbox.Gate   // that its traffic goes through; nil where it has none; guarded by the handle's mu
	live []forkbox.Port // that are published; guarded by the box's turn
}

var links slot[link]

func gateOf(h *handle, a *attached) forkbox.Gate {
	h.mu.Lock()
	defer h.mu.Unlock()
	return links.of(a).gate
}

// setGate has traffic of an instance go through a gate, and says which it had.
func (e *Engine) setGate(h *handle, a *attached, gate forkbox.Gate) (was forkbox.Gate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := links.of(a)
	was, l.gate = l.gate, gate
	return was
}

// reopen opens the gate of a box that was found running and whose gate could
// not be opened then. Nothing is run in it before. The caller has its turn.
func (e *Engine) reopen(ctx context.Context, h *handle, a *attached, box *forkbox.Box) error {
	if a == nil || !shut(h, a) {
		return nil
	}
	gate, err := e.openGate(ctx, *box, a.instance)
	if err != nil {
		return err
	}
	e.setGate(h, a, gate)
	box.Note = netNote(*box)
	return e.ledger.UpdateBox(context.WithoutCancel(ctx), *box)
}

// closeAllNets does so for all boxes, and writes the last records.
func (e *Engine) closeAllNets() {
	e.records.end()
	for _, h := range e.allHandles() {
		if a := h.current(); a != nil {
			e.closeNet(h, a)
		}
	}
	e.records.close()
}

// closeRecords takes no more records.
func (e *Engine) closeRecords() { e.records.close() }

// hasGates says whether this engine opens gates for boxes.
func (e *Engine) hasGates() bool { return e.networks != nil }

func (e *Engine) allHandles() []*handle {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]*handle, 0, len(e.handles))
	for _, h := range e.handles {
		all = append(all, h)
	}
	return all
}

// hears is what the gate of a box tells and asks.
func (e *Engine) hears(box forkbox.Box) Hears {
	id, name, uid, team := box.ID, box.Name, box.Owner.UID, box.Network.Team
	return Hears{
		NextID: func() int64 { return e.connID.Add(1) },
		Record: func(c forkbox.Conn) {
			c.Box, c.Name, c.UID = id, name, uid
			if c.ID == 0 {
				c.ID = e.connID.Add(1)
			}
			if c.Time.IsZero() {
				c.Time = e.now()
			}
			if c.State == forkbox.ConnRefused && c.Times <= 1 {
				e.countRefused(id, c.Exec)
			}
			e.records.put(c)
		},
		Mates: func(mate string) (string, bool) { return e.mate(id, uid, team, mate) },
	}
}

// countRefused notes with an exec that something was refused to it, so that
// whoever waits for it need not go and look; with all of them, where it is not
// known whose attempt it was.
func (e *Engine) countRefused(box, exec string) {
	h := e.handle(box)
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attached == nil {
		return
	}
	for id, x := range h.attached.execs {
		if exec == "" || exec == id {
			x.exec.Refused++
		}
	}
}

// mate finds a running box of an owner's team by its name.
func (e *Engine) mate(asker string, uid int, team, name string) (string, bool) {
	if team == "" {
		return "", false
	}
	for _, h := range e.allHandles() {
		a := h.current()
		if a == nil || a.owner != uid || h.id == asker {
			continue
		}
		if b := h.box(a); b.Name == name && b.Network.Team == team {
			return h.id, true
		}
	}
	return "", false
}

// prepareNet makes what the network of a box needs.
func (e *Engine) prepareNet(box *forkbox.Box) error {
	if box.Net != forkbox.NetPolicy || e.networks == nil {
		return nil
	}
	return forkbox.Wrap("prepare the network", e.networks.Prepare(box))
}

// removeNet deletes it.
func (e *Engine) removeNet(box forkbox.Box) error {
	if box.Net != forkbox.NetPolicy || e.networks == nil {
		return nil
	}
	return forkbox.Wrap("remove what the network had", e.networks.Remove(box))
}

// netEnv is what execs need to use the box's network.
func (e *Engine) netEnv(box forkbox.Box) []string {
	if box.Net != forkbox.NetPolicy || e.networks == nil {
		return nil
	}
	return e.networks.Environment(box)
}
