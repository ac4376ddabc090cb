package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/forkbox/forkbox"
)

// SnapshotList is a list of snapshots.
type SnapshotList struct {
	Snapshots []forkbox.Snapshot `json:"snapshots"`
}

// Snapshot saves what a box is now. Whatever runs in it goes on.
func (c *Client) Snapshot(ctx context.Context, ref string, spec forkbox.SnapshotSpec) (s forkbox.Snapshot, err error) {
	err = c.call(ctx, "save box "+ref, http.MethodPost, boxPath(ref, "snapshots"), spec, &s)
	return s, err
}

// Snapshots lists those of a box, oldest first.
func (c *Client) Snapshots(ctx context.Context, ref string) ([]forkbox.Snapshot, error) {
	var list SnapshotList
	err := c.call(ctx, "list snapshots of box "+ref, http.MethodGet, boxPath(ref, "snapshots"), nil, &list)
	return list.Snapshots, err
}

// Rollback makes a box what it was, and keeps what it is as a snapshot.
func (c *Client) Rollback(ctx context.Context, ref string, spec forkbox.RollbackSpec) (r forkbox.Rollback, err error) {
	err = c.call(ctx, "roll back box "+ref, http.MethodPost, boxPath(ref, "rollback"), spec, &r)
	return r, err
}

// Fork makes boxes out of BOX, as it is now, or of BOX@SNAPSHOT. A child that
// could not be made has its own error; the others are there.
func (c *Client) Fork(ctx context.Context, ref string, spec forkbox.ForkSpec) (f forkbox.Fork, err error) {
	err = c.call(ctx, "fork box "+ref, http.MethodPost, snapshotPath(ref, "fork"), spec, &f)
	return f, err
}

// ForkRequest is what children to make, and what limits and network they are to
// have. With empty wishes each has those of the box it is of.
type ForkRequest struct {
	forkbox.ForkSpec
	Wish    forkbox.Wish    `json:"wish,omitzero"`
	NetWish forkbox.NetWish `json:"net_wish,omitzero"`
}

// ForkWith is Fork with limits and a network of the children's own.
func (c *Client) ForkWith(ctx context.Context, ref string, req ForkRequest) (f forkbox.Fork, err error) {
	err = c.call(ctx, "fork box "+ref, http.MethodPost, snapshotPath(ref, "fork"), req, &f)
	return f, err
}

// RemoveSnapshot forgets BOX@SNAPSHOT. With squash also one that others were
// forked from: what they need of it becomes theirs.
func (c *Client) RemoveSnapshot(ctx context.Context, ref string, squash bool) error {
	box, snapshot, _ := forkbox.SplitRef(ref)
	path := boxPath(box, "snapshots", snapshot)
	if squash {
		path += "?squash=1"
	}
	return c.call(ctx, "remove snapshot "+ref, http.MethodDelete, path, nil, nil)
}

// Family is all that the caller forked.
func (c *Client) Family(ctx context.Context) (f forkbox.Family, err error) {
	err = c.call(ctx, "list what was forked", http.MethodGet, "/family", nil, &f)
	return f, err
}

// snapshotPath is the path of what is done to BOX[@SNAPSHOT]. "BOX@", the last
// snapshot, is an empty name on the wire, which is not the same as none.
func snapshotPath(ref, verb string) string {
	box, snapshot, at := forkbox.SplitRef(ref)
	if !at {
		return boxPath(box, verb)
	}
	return boxPath(box, verb) + "?snapshot=" + url.QueryEscape(snapshot)
}
