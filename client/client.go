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
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/wire"
)

// Client asks one daemon. It may be used from several goroutines. What concerns
// one noun is in the type of that name, whose methods a Client has as well.
type Client struct {
	*link
	Limits
	Network
	Forks
	Racing
	Keeper
}

// link is the connection pool to a daemon that all of a client's nouns use.
type link struct {
	socket  string
	base    string // what URLs of requests begin with
	remote  bool   // it is not on the socket
	http    *http.Client
	reached chan net.Conn   // the connection of Reach, for the first call
	idle    chan *wire.Conn // upgraded connections that wait for the next exec

	// Redial, where set, is called when no daemon listens on the socket. It
	// should start a daemon and return when that one listens. Set it before the
	// first call.
	Redial func(ctx context.Context) error
	// WebSocket has execs read and written over a WebSocket also where files could
	// be handed over: for a socket that is forwarded from another machine.
	WebSocket bool
	// Note, where set, is told what happens to the box of an exec that the
	// caller waits for: that it was paused, and why.
	Note func(text string)
}

// New makes a client. It does not connect.
func New(socket string) *Client {
	l := &link{socket: socket, base: "http://forkbox"}
	return newClient(l, &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return l.connect(ctx) },
		DisableCompression: true,
	})
}

func newClient(l *link, transport http.RoundTripper) *Client {
	l.reached, l.idle = make(chan net.Conn, 1), make(chan *wire.Conn, 4)
	l.http = &http.Client{
		Transport: transport,
		// A redirect is not part of the API: following one would hide a bad path.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Client{link: l, Limits: Limits{l}, Network: Network{l}, Forks: Forks{l}, Racing: Racing{l}, Keeper: Keeper{l}}
}

// Socket is where the daemon listens; empty for one that is elsewhere.
func (c *link) Socket() string { return c.socket }

// Host is the URL of a daemon that is elsewhere; empty for one on a socket.
func (c *link) Host() string {
	if !c.remote {
		return ""
	}
	return c.base
}

// Close drops the connections that are kept for later calls.
func (c *link) Close() {
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

func (c *link) keep(conn *wire.Conn) bool {
	select {
	case c.idle <- conn:
		return true
	default:
		return false
	}
}

// do calls a route, with the query and a value for each name in its path.
func do[In, Out any](ctx context.Context, l *link, op string, call api.Call[In, Out], in In, query url.Values, values ...string) (out Out, err error) {
	var body any
	if call.In != nil {
		body = in
	}
	resp, err := l.send(ctx, op, call.Route, body, query, values...)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	if call.Out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return out, lost(ctx, op, err)
	}
	return out, lost(ctx, op, json.NewDecoder(resp.Body).Decode(&out))
}

// flags is a query with those names that are set.
func flags(name string, set bool) url.Values {
	if !set {
		return nil
	}
	return url.Values{name: {"1"}}
}

// send returns the response of a request that succeeded; its body is the
// caller's to read and close.
func (c *link) send(ctx context.Context, op string, route *api.Route, in any, query url.Values, values ...string) (*http.Response, error) {
	req, err := newRequest(ctx, route.Method, c.base+route.URL(query, values...), in)
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	}
	c.setKey(req, route)
	setMatch(req, route)
	return c.do(ctx, op, req)
}

// stream is send for an answer of server-sent events.
func (c *link) stream(ctx context.Context, op string, route *api.Route, query url.Values) (*http.Response, error) {
	req, err := newRequest(ctx, route.Method, c.base+route.URL(query), nil)
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	}
	req.Header.Set("Accept", api.EventStream)
	return c.do(ctx, op, req)
}

func (c *link) do(ctx context.Context, op string, req *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(req)
	if c.askAgain(req, err) {
		if req.GetBody != nil {
			req.Body, _ = req.GetBody() // it is in memory
		}
		resp, err = c.http.Do(req)
	}
	if err != nil {
		return nil, c.lost(ctx, op, err)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, refusal(op, resp)
	}
	return resp, nil
}

func newRequest(ctx context.Context, method, url string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err == nil && in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}
