package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Ports lists the published ports of a box.
func (c Network) Ports(ctx context.Context, ref string) ([]forkbox.Port, error) {
	list, err := do(ctx, c.link, "list the ports of box "+ref, api.ListPorts, api.None{}, nil, ref)
	return list.Ports, err
}

// Publish has a port of a box answer on the host's loopback while the box runs.
// With a zero Host the daemon chooses one, and the result says which.
func (c Network) Publish(ctx context.Context, ref string, port forkbox.Port) (made forkbox.Port, err error) {
	op := "publish port " + strconv.Itoa(port.Box) + " of box " + ref
	return do(ctx, c.link, op, api.PublishPort, port, nil, ref)
}

// Unpublish takes that back. With a zero Host it is about all that the box's port
// is published as.
func (c Network) Unpublish(ctx context.Context, ref string, port forkbox.Port) error {
	number := strconv.Itoa(port.Box)
	query := url.Values{"port": {number}}
	if port.Host != 0 {
		query.Set("host", strconv.Itoa(port.Host))
	}
	_, err := do(ctx, c.link, "unpublish port "+number+" of box "+ref, api.UnpublishPort, api.None{}, query, ref)
	return err
}

// OpenPort is a URL under which a browser on this host reaches a port of a box.
func (c Network) OpenPort(ctx context.Context, ref string, port int) (string, error) {
	done, err := do(ctx, c.link, "open port "+strconv.Itoa(port)+" of box "+ref, api.OpenPort, api.OpenRequest{Port: port}, nil, ref)
	return done.URL, err
}

// WaitPort returns when something in the box accepts connections on a port.
func (c Network) WaitPort(ctx context.Context, ref string, port int, timeout time.Duration) error {
	op := "wait for port " + strconv.Itoa(port) + " of box " + ref
	_, err := do(ctx, c.link, op, api.WaitPort, api.WaitPortRequest{Port: port, Timeout: timeout}, nil, ref)
	return err
}
