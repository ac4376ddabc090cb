package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/wire"
)

// Client is a connection pool to one daemon. It may be used from several
// goroutines.
type Client struct {
	socket  string
	http    *http.Client
	reached chan net.Conn   // the connection of Reach, for the first call
	idle    chan *wire.Conn // upgraded connections that wait for the next exec

	// Redial, where set, is called when no daemon listens on the socket. It
	// should start a daemon and return when that one listens. Set it before the
	// first call.
	Redial func(ctx context.Context) error
	// Note, where set, is told what happens to the box of an exec that the
	// caller waits for: that it was paused, and why.
	Note func(text string)
}

// New makes a client. It does not connect.
func New(socket string) *Client {
	c := &Client{socket: socket, reached: make(chan net.Conn, 1), idle: make(chan *wire.Conn, 4)}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return c.connect(ctx) },
			DisableCompression: true,
		},
		// A redirect is not part of the API: following one would hide a bad path.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// Socket is where the daemon listens.
func (c *Client) Socket() string { return c.socket }

// Close drops the connections that are kept for later calls.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	for {
		select {
		case conn := <-c.reached:
			conn.Close()
		case conn := <-c.idle:
			conn.Close()
		default:
			return
		}
	}
}

func (c *Client) keep(conn *wire.Conn) bool {
	select {
	case c.idle <- conn:
		return true
	default:
		return false
	}
}

// call sends in as JSON, unless it is nil, and decodes the answer into out,
// unless that is nil.
func (c *Client) call(ctx context.Context, op, method, path string, in, out any) error {
	resp, err := c.send(ctx, op, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return lost(ctx, op, err)
	}
	return lost(ctx, op, json.NewDecoder(resp.Body).Decode(out))
}

// send returns the response of a request that succeeded; its body is the
// caller's to read and close.
func (c *Client) send(ctx context.Context, op, method, path string, in any) (*http.Response, error) {
	req, err := newRequest(ctx, method, path, in)
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil && method == http.MethodGet && c.Redial != nil && ctx.Err() == nil {
		// A daemon that died under the question; asking again asks the next.
		resp, err = c.http.Do(req)
	}
	if err != nil {
		return nil, lost(ctx, op, err)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, refusal(op, resp)
	}
	return resp, nil
}

func newRequest(ctx context.Context, method, path string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://forkbox/v1"+path, body)
	if err == nil && in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}

// boxPath is the path of a box, and of what is below it.
func boxPath(ref string, below ...string) string {
	path := "/boxes/" + segment(ref)
	for _, name := range below {
		path += "/" + segment(name)
	}
	return path
}

// segment escapes a name so that it stays one segment of a path, whatever it
// is: "", "." and ".." would be cleaned away. No box can be called "%".
func segment(name string) string {
	switch name {
	case "", ".", "..":
		return "%25"
	}
	return url.PathEscape(name)
}
