package network

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// PortsOf lists what a box publishes. One whose Host is 0 gets its port when
// the box is started.
func (m *Manager) PortsOf(ctx context.Context, who forkbox.Owner, ref string) ([]forkbox.Port, error) {
	box, err := m.core.Box(ctx, who, ref)
	return box.Network.Ports, err
}

// Unpublish takes back a port that a box publishes; with p.Host 0 on all ports
// of the host.
func (m *Manager) Unpublish(ctx context.Context, who forkbox.Owner, ref string, p forkbox.Port) error {
	const op = "take back the port"
	_, err := m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if err := core.Usable(op, *box); err != nil {
			return err
		}
		if err := checkPort(op, p.Box); err != nil {
			return err
		}
		var gone, left []forkbox.Port
		for _, q := range box.Network.Ports {
			if means(p, q) {
				gone = append(gone, q)
			} else {
				left = append(left, q)
			}
		}
		if len(gone) == 0 {
			return forkbox.Errorf(forkbox.NotFound, op, "%s does not publish port %d", box.Name, p.Box).
				Hint("forkbox port %s lists those that it does", box.Name)
		}
		return m.unpublish(context.WithoutCancel(ctx), h, box, gone, left)
	})
	return err
}

// unpublish writes that ports are not published any more, and then ends that.
func (m *Manager) unpublish(ctx context.Context, h *core.Handle, box *forkbox.Box, gone, left []forkbox.Port) error {
	a := h.Current()
	if err := m.savePorts(ctx, h, a, box, left); err != nil || a == nil {
		return err
	}
	l := links.Of(a)
	for _, p := range gone {
		if i := slices.Index(l.live, p); i >= 0 {
			m.ports.Unpublish(box.ID, p)
			l.live = slices.Delete(l.live, i, i+1)
		}
	}
	return nil
}

// means says whether a port is the one, or one of those, that the caller named.
func means(named, q forkbox.Port) bool {
	return named.Box == q.Box && (named.Host == 0 || named.Host == q.Host)
}

// published is where a port is among those that a box publishes, -1 when it is
// not.
func published(box forkbox.Box, p forkbox.Port) int {
	return slices.IndexFunc(box.Network.Ports, func(q forkbox.Port) bool { return means(p, q) })
}
