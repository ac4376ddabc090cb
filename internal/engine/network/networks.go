package network

import (
	"context"
	"net"

	"github.com/forkbox/forkbox"
)

// Networks decides what boxes may reach and opens their gates.
type Networks interface {
	// Resolve makes of what was asked what holds. asked is a mode or the name
	// of a team; "" means that it was not said: the host's default. A network that this
	// host cannot give is an Unsupported error.
	Resolve(who forkbox.Owner, asked string, wish forkbox.NetWish) (forkbox.Net, forkbox.Network, error)

	// Prepare makes what a box needs: a CA, placeholders for secrets. It is
	// called before the box is first started, and again when its rules changed:
	// what is there already stays.
	Prepare(box *forkbox.Box) error

	// Open opens the gate of a box that was started or found running. ctx is
	// for the opening only: the gate stays until it is closed.
	Open(ctx context.Context, box forkbox.Box, i forkbox.Networked, hears Hears) (forkbox.Gate, error)

	// Explain says what the gate would make of a URL, host:port or address.
	Explain(ctx context.Context, box forkbox.Box, target string) (forkbox.NetVerdict, error)

	// Environment is what execs of the box need to use its network:
	// placeholders, paths of certificates.
	Environment(box forkbox.Box) []string

	// Remove deletes what Prepare made. It can be repeated.
	Remove(box forkbox.Box) error
}

// Hears is what a gate tells and asks the engine.
type Hears = forkbox.Hears

// Dial connects to a TCP port of a box's loopback.
type Dial = func(ctx context.Context, port int) (net.Conn, error)

// Ports publishes ports of boxes on the host's loopback.
type Ports interface {
	// Publish relays a port of the host to one of the box. With p.Host 0 it
	// chooses a free one; the result says which.
	Publish(box forkbox.Box, p forkbox.Port, dial func(ctx context.Context, port int) (net.Conn, error)) (forkbox.Port, error)
	Unpublish(box string, p forkbox.Port)
	// Close ends all of a box, when it stops.
	Close(box string)
	// URL is where browsers reach a port of the box.
	URL(box forkbox.Box, port int, dial func(ctx context.Context, port int) (net.Conn, error)) (string, error)
}
