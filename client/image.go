package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Export writes BOX[@SNAPSHOT] to w as an OCI image in a tar. After an error
// what was written is worth nothing.
func (c Forks) Export(ctx context.Context, ref string, w io.Writer) error {
	op := "export " + ref
	box, query := snapshotQuery(ref)
	resp, err := c.send(ctx, op, api.ExportBox.Route, nil, query, box)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	out := &ownErrors{write: w}
	_, err = io.Copy(out, resp.Body)
	switch own := out.failed(); {
	case own != nil:
		return forkbox.Wrap(op, own)
	case errors.Is(err, io.ErrUnexpectedEOF) && ctx.Err() == nil:
		return forkbox.Errorf(forkbox.Internal, op, "the daemon broke off in the middle").
			Hint("the daemon's log says why")
	}
	return lost(ctx, op, err)
}

// ImportRequest is what to make of an archive, and what limits and network the
// box is to have.
type ImportRequest struct {
	forkbox.ImportSpec
	Wish    forkbox.Wish
	NetWish forkbox.NetWish
}

// Import makes a box of an archive that Export, or another tool for OCI images,
// wrote.
func (c Forks) Import(ctx context.Context, r io.Reader, spec forkbox.ImportSpec) (forkbox.Import, error) {
	return c.ImportWith(ctx, r, ImportRequest{ImportSpec: spec})
}

// ImportWith is Import with limits and a network for the box.
func (c Forks) ImportWith(ctx context.Context, r io.Reader, req ImportRequest) (done forkbox.Import, err error) {
	q, err := req.query()
	if err != nil {
		return done, forkbox.Errorf(forkbox.Invalid, "import a box", "%w", err)
	}
	err = c.upload(ctx, "import a box", api.ImportBox.Route, q, r, &done)
	return done, err
}

// query has all of it: the body is the archive's.
func (r ImportRequest) query() (url.Values, error) {
	q := url.Values{}
	for name, wish := range map[string]any{"wish": r.Wish, "net_wish": r.NetWish} {
		if reflect.ValueOf(wish).IsZero() {
			continue
		}
		text, err := json.Marshal(wish)
		if err != nil {
			return nil, err
		}
		q.Set(name, string(text))
	}
	for name, value := range map[string]string{"name": r.Name, "dir": r.Dir, "net": string(r.Net)} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q, nil
}

// AddBase unpacks what boxes can be made of: an image in a tar (kind "oci"), or
// a root filesystem in a tar (kind "tar"). name is for people. A box is made of
// it with From "base:" and the id.
func (c Forks) AddBase(ctx context.Context, kind, name string, r io.Reader) (base forkbox.Base, err error) {
	q := url.Values{"kind": {kind}, "name": {name}}
	err = c.upload(ctx, "unpack "+name, api.AddBase.Route, q, r, &base)
	return base, err
}

// upload sends what r has, however much that is. An error of r is its own, not
// the daemon's.
func (c Forks) upload(ctx context.Context, op string, route *api.Route, query url.Values, r io.Reader, out any) error {
	in := &ownErrors{read: r}
	req, err := http.NewRequestWithContext(ctx, route.Method, c.base+route.URL(query), in)
	if err != nil {
		return forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	}
	req.Header.Set("Content-Type", "application/x-tar")
	c.setKey(req, route)
	resp, err := c.http.Do(req)
	if err != nil {
		if own := in.failed(); own != nil && ctx.Err() == nil {
			return forkbox.Wrap(op, own)
		}
		return lost(ctx, op, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return refusal(op, resp)
	}
	return lost(ctx, op, json.NewDecoder(resp.Body).Decode(out))
}
