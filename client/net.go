package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/forkbox/forkbox"
)

// NetDocument is the network of a box.
type NetDocument struct {
	Box   string        `json:"box"` // its id
	Name  string        `json:"name"`
	State forkbox.State `json:"state"`
	Net   forkbox.Net   `json:"net"`
	forkbox.Network
}

// NetChange is rules to put in front of a box's own, or to take away; each is
// "allow X" or "deny X". A request does one of the two.
type NetChange struct {
	Add    []string `json:"add,omitempty"`
	Remove []string `json:"remove,omitempty"`
}

// ExplainRequest names what a box might try to reach: a URL, HOST[:PORT] or an
// address.
type ExplainRequest struct {
	Target string `json:"target"`
}

// ConnSpec is which connections to tell. The zero value is all that are kept.
type ConnSpec struct {
	After  int64 // only later ones than this id
	Limit  int   // no more than the latest so many; 0 is the daemon's own bound
	Follow bool  // go on with what is tried from now on
}

// ConnLine is one line of the connections as the API sends them: a connection,
// or at the end what went wrong.
type ConnLine struct {
	*forkbox.Conn
	Error *forkbox.Error `json:"error,omitempty"`
}

// Net is the network of a box: what it may reach, and who said so.
func (c *Client) Net(ctx context.Context, ref string) (doc NetDocument, err error) {
	err = c.call(ctx, "look at the network of box "+ref, http.MethodGet, boxPath(ref, "net"), nil, &doc)
	return doc, err
}

// ChangeNet changes the rules of a box, at once also of one that runs. Either
// all of it holds or nothing changed.
func (c *Client) ChangeNet(ctx context.Context, ref string, change NetChange) (box forkbox.Box, err error) {
	err = c.call(ctx, "change the network of box "+ref, http.MethodPatch, boxPath(ref, "net"), change, &box)
	return box, err
}

// Explain says what the gate of a box would make of a URL, HOST[:PORT] or an
// address. It connects to nothing.
func (c *Client) Explain(ctx context.Context, ref, target string) (verdict forkbox.NetVerdict, err error) {
	err = c.call(ctx, "explain "+target, http.MethodPost, boxPath(ref, "net", "explain"), ExplainRequest{Target: target}, &verdict)
	return verdict, err
}

// Conns calls yield for each connection that a box tried, the oldest first. One
// that was open comes again, under the same id, when it has ended.
func (c *Client) Conns(ctx context.Context, ref string, spec ConnSpec, yield func(forkbox.Conn) error) error {
	op := "read the connections of box " + ref
	resp, err := c.send(ctx, op, http.MethodGet, boxPath(ref, "net", "log")+"?"+spec.query(), nil)
	if err != nil {
		return err
	}
	return eachLine(ctx, op, resp.Body, func(line ConnLine) error {
		switch {
		case line.Error != nil:
			return line.Error
		case line.Conn == nil:
			return nil
		}
		return yield(*line.Conn)
	})
}

func (s ConnSpec) query() string {
	q := url.Values{}
	if s.After != 0 {
		q.Set("after", strconv.FormatInt(s.After, 10))
	}
	if s.Limit != 0 {
		q.Set("limit", strconv.Itoa(s.Limit))
	}
	if s.Follow {
		q.Set("follow", "1")
	}
	return q.Encode()
}
