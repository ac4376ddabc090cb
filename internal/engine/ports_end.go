package engine

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
)

// PortsOf lists what a box publishes. One whose Host is 0 gets its port when
// the box is started.
func (e *Engine) PortsOf(ctx context.Context, who forkbox.Owner, ref string) ([]forkbox.Port, error) {
	box, err := e.Box(ctx, who, ref)
	return box.Network.Ports, err
}

// Unpublish takes back a port that a box publishes; with p.Host 0 on all ports
// of the host.
func (e *Engine) Unpublish(ctx context.Context, who forkbox.Owner, ref string, p forkbox.Port) error {
	const op = "take back the port"
	_, err := e.change(ctx, op, who, ref, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		if err := usable(op, *box); err != nil {
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
		return e.unpublish(context.WithoutCancel(ctx), h, box, gone, left)
	})
	return err
}

// unpublish writes that ports are not published any more, and then ends that.
func (e *Engine) unpublish(ctx context.Context, h *handle, box *forkbox.Box, gone, left []forkbox.Port) error {
	a := h.current()
	if err := e.savePorts(ctx, h, a, box, left); err != nil || a == nil {
		return err
	}
	l := links.of(a)
	for _, p := range gone {
		if i := slices.Index(l.live, p); i >= 0 {
			e.ports.Unpublish(box.ID, p)
			l.live = slices.Delete(l.live, i, i+1)
		}
	}
	return nil
}

// means says whether a port is the one, or one of those, that somebody named.
func means(named, q forkbox.Port) bool {
	return named.Box == q.Box && (named.Host == 0 || named.Host == q.Host)
}

// published is where a port is among those that a box publishes, -1 when it is
// not.
func published(box forkbox.Box, p forkbox.Port) int {
	return slices.IndexFunc(box.Network.Ports, func(q forkbox.Port) bool { return means(p, q) })
}
