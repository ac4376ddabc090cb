package network

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// MaxPorts is how many ports one box publishes at most.
const MaxPorts = 64

// Publish makes a port of a box reachable on the host's loopback whenever the
// box runs. With p.Host 0 a free port is chosen: for a box at rest when it is
// started.
func (m *Manager) Publish(ctx context.Context, who forkbox.Owner, ref string, p forkbox.Port) (forkbox.Port, error) {
	const op = "publish the port"
	_, err := m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if err := m.publishable(op, who, *box, p); err != nil {
			return err
		}
		a, err := m.core.Find(ctx, h, box)
		if err != nil {
			return err
		}
		if i := published(*box, p); i >= 0 && (a == nil || slices.Contains(links.Of(a).live, box.Network.Ports[i])) {
			p = box.Network.Ports[i]
			return nil
		}
		p, err = m.publishNew(context.WithoutCancel(ctx), h, a, box, p)
		return err
	})
	return p, err
}

// publishable refuses what makes no sense and what the caller may not.
func (m *Manager) publishable(op string, who forkbox.Owner, box forkbox.Box, p forkbox.Port) error {
	if err := core.Usable(op, box); err != nil {
		return err
	}
	if err := checkPort(op, p.Box); err != nil {
		return err
	}
	switch {
	case p.Host < 0 || p.Host > 65535:
		return checkPort(op, p.Host)
	case p.Host > 0 && p.Host < 1024 && who.UID != 0:
		return forkbox.Errorf(forkbox.Denied, op, "only root may publish on port %d, below 1024", p.Host).
			Hint("use a higher one: forkbox port %s %d:%d", box.Name, p.Box, p.Host+8000)
	case box.Net == forkbox.NetHost:
		return forkbox.Errorf(forkbox.Invalid, op, "%s shares the host's network: its port %d is the host's already", box.Name, p.Box)
	case m.ports == nil:
		return noPorts(op)
	case len(box.Network.Ports) >= MaxPorts && published(box, p) < 0:
		return forkbox.Errorf(forkbox.Invalid, op, "%s publishes %d ports already", box.Name, MaxPorts).
			Hint("take one back: forkbox port %s --rm PORT", box.Name)
	}
	return nil
}

func noPorts(op string) error {
	return forkbox.Errorf(forkbox.Unsupported, op, "this daemon publishes no ports")
}

func checkPort(op string, port int) error {
	if port < 1 || port > 65535 {
		return forkbox.Errorf(forkbox.Invalid, op, "%d is not a port", port).Hint("it is between 1 and 65535")
	}
	return nil
}

// publishNew writes that a port is published, and then publishes it where the
// box runs: a crash in between leaves one that the next start publishes.
func (m *Manager) publishNew(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box, p forkbox.Port) (forkbox.Port, error) {
	was := box.Network.Ports
	if err := m.savePorts(ctx, h, a, box, append(withoutPort(was, p), p)); err != nil || a == nil {
		return p, err
	}
	got, err := m.publish(a, *box, p)
	if err != nil {
		if back := m.savePorts(ctx, h, a, box, was); back != nil {
			m.core.Log.ErrorContext(ctx, "cannot take back a port that could not be published", "box", box.ID, "port", p, "error", back)
		}
		return p, err
	}
	if err := m.savePorts(ctx, h, a, box, append(withoutPort(was, p), got)); err != nil {
		m.ports.Unpublish(box.ID, got)
		return p, err
	}
	l := links.Of(a)
	l.live = append(l.live, got)
	return got, nil
}

// withoutPort is a copy without what is published already as p.
func withoutPort(ports []forkbox.Port, p forkbox.Port) []forkbox.Port {
	return slices.DeleteFunc(slices.Clone(ports), func(q forkbox.Port) bool { return p == q })
}

// savePorts writes what a box publishes. The caller has its turn.
func (m *Manager) savePorts(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box, ports []forkbox.Port) error {
	if slices.Equal(ports, box.Network.Ports) {
		return nil
	}
	next := *box
	next.Network.Ports = ports
	if err := m.core.Ledger.UpdateBox(ctx, next, m.core.About(next, forkbox.EventPorts, portsText(ports))); err != nil {
		return err
	}
	*box = next
	if a != nil {
		h.Govern(a, next)
	}
	return nil
}

// portsText says what a box publishes: "8080 on 127.0.0.1:18080".
func portsText(ports []forkbox.Port) string {
	var words []string
	for _, p := range ports {
		word := strconv.Itoa(p.Box)
		if p.Host != 0 {
			word += " on 127.0.0.1:" + strconv.Itoa(p.Host)
		}
		words = append(words, word)
	}
	return "it publishes " + core.OrElse(strings.Join(words, ", "), "nothing")
}

func (m *Manager) publish(a *core.Attached, box forkbox.Box, p forkbox.Port) (forkbox.Port, error) {
	const op = "publish the port"
	if m.ports == nil {
		return p, noPorts(op)
	}
	dial, err := m.dialer(op, a, box.Name)
	if err != nil {
		return p, err
	}
	got, err := m.ports.Publish(box, p, dial)
	return got, forkbox.Wrap(op, err)
}

// PublishAll publishes the ports of a box that was started or found running.
// One that is taken is no reason not to run: the box's note, and an event, say
// so. The caller has the box's turn.
func (m *Manager) PublishAll(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box) {
	if len(box.Network.Ports) == 0 {
		return
	}
	next := *box
	next.Network.Ports = slices.Clone(box.Network.Ports)
	var told []forkbox.Event
	for i, p := range next.Network.Ports {
		got, err := m.publish(a, *box, p)
		if err != nil {
			next.Note = fmt.Sprintf("port %d is not published: %s", p.Box, whyOf(err))
			told = append(told, m.core.About(next, forkbox.EventNetwork, next.Note))
			continue
		}
		next.Network.Ports[i] = got
		l := links.Of(a)
		l.live = append(l.live, got)
	}
	if !slices.Equal(next.Network.Ports, box.Network.Ports) {
		told = append(told, m.core.About(next, forkbox.EventPorts, portsText(next.Network.Ports)))
	}
	if next.Note == box.Note && len(told) == 0 {
		return
	}
	if err := m.core.Ledger.UpdateBox(ctx, next, told...); err != nil {
		m.core.Log.ErrorContext(ctx, "cannot record which ports a box publishes", "box", box.ID, "error", err)
		return
	}
	*box = next
	h.Govern(a, next)
}
