package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/forkbox/forkbox"
)

// PortList is the published ports of a box.
type PortList struct {
	Ports []forkbox.Port `json:"ports"`
}

// OpenRequest names a port of a box.
type OpenRequest struct {
	Port int `json:"port"`
}

// OpenResult is where a browser reaches it.
type OpenResult struct {
	URL string `json:"url"`
}

// WaitPortRequest is a port of a box to wait for, and how long; a zero Timeout is
// the daemon's own patience.
type WaitPortRequest struct {
	Port    int           `json:"port"`
	Timeout time.Duration `json:"timeout_ns,omitempty"`
}

// Ports lists the published ports of a box.
func (c *Client) Ports(ctx context.Context, ref string) ([]forkbox.Port, error) {
	var list PortList
	err := c.call(ctx, "list the ports of box "+ref, http.MethodGet, boxPath(ref, "ports"), nil, &list)
	return list.Ports, err
}

// Publish has a port of a box answer on the host's loopback while the box runs.
// With a zero Host the daemon chooses one, and the result says which.
func (c *Client) Publish(ctx context.Context, ref string, port forkbox.Port) (made forkbox.Port, err error) {
	op := "publish port " + strconv.Itoa(port.Box) + " of box " + ref
	err = c.call(ctx, op, http.MethodPost, boxPath(ref, "ports"), port, &made)
	return made, err
}

// Unpublish takes that back. With a zero Host it is about all that the box's port
// is published as.
func (c *Client) Unpublish(ctx context.Context, ref string, port forkbox.Port) error {
	number := strconv.Itoa(port.Box)
	path := boxPath(ref, "ports") + "?port=" + number
	if port.Host != 0 {
		path += "&host=" + strconv.Itoa(port.Host)
	}
	return c.call(ctx, "unpublish port "+number+" of box "+ref, http.MethodDelete, path, nil, nil)
}

// OpenPort is a URL under which a browser on this host reaches a port of a box.
func (c *Client) OpenPort(ctx context.Context, ref string, port int) (string, error) {
	var done OpenResult
	err := c.call(ctx, "open port "+strconv.Itoa(port)+" of box "+ref, http.MethodPost, boxPath(ref, "open"), OpenRequest{Port: port}, &done)
	return done.URL, err
}

// WaitPort returns when something in the box accepts connections on a port.
func (c *Client) WaitPort(ctx context.Context, ref string, port int, timeout time.Duration) error {
	op := "wait for port " + strconv.Itoa(port) + " of box " + ref
	return c.call(ctx, op, http.MethodPost, boxPath(ref, "wait"), WaitPortRequest{Port: port, Timeout: timeout}, nil)
}
