package client

import (
	"context"
	"net/url"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Forks is snapshots, forks, templates and images of boxes.
type Forks struct{ *link }

// Snapshot saves what a box is now. Whatever runs in it goes on.
func (c Forks) Snapshot(ctx context.Context, ref string, spec forkbox.SnapshotSpec) (forkbox.Snapshot, error) {
	return do(ctx, c.link, "save box "+ref, api.CreateSnapshot, spec, nil, ref)
}

// Snapshots lists those of a box, oldest first.
func (c Forks) Snapshots(ctx context.Context, ref string) ([]forkbox.Snapshot, error) {
	list, err := do(ctx, c.link, "list snapshots of box "+ref, api.ListSnapshots, api.None{}, nil, ref)
	return list.Snapshots, err
}

// Rollback makes a box what it was, and keeps what it is as a snapshot.
func (c Forks) Rollback(ctx context.Context, ref string, spec forkbox.RollbackSpec) (forkbox.Rollback, error) {
	return do(ctx, c.link, "roll back box "+ref, api.RollbackBox, spec, nil, ref)
}

// Fork makes boxes out of BOX, as it is now, or of BOX@SNAPSHOT. A child that
// could not be made has its own error; the others are there.
func (c Forks) Fork(ctx context.Context, ref string, spec forkbox.ForkSpec) (forkbox.Fork, error) {
	return c.ForkWith(ctx, ref, api.ForkRequest{ForkSpec: spec})
}

// ForkWith is Fork with limits and a network of the children's own.
func (c Forks) ForkWith(ctx context.Context, ref string, req api.ForkRequest) (forkbox.Fork, error) {
	box, query := snapshotQuery(ref)
	return do(ctx, c.link, "fork box "+ref, api.ForkBox, req, query, box)
}

// RemoveSnapshot forgets BOX@SNAPSHOT. With squash also one that others were
// forked from: what they need of it becomes theirs.
func (c Forks) RemoveSnapshot(ctx context.Context, ref string, squash bool) error {
	box, snapshot, _ := forkbox.SplitRef(ref)
	_, err := do(ctx, c.link, "remove snapshot "+ref, api.RemoveSnapshot, api.None{}, flags("squash", squash), box, snapshot)
	return err
}

// Family is all that the caller forked.
func (c Forks) Family(ctx context.Context) (forkbox.Family, error) {
	return do(ctx, c.link, "list what was forked", api.GetFamily, api.None{}, nil)
}

// snapshotQuery is how a request names BOX[@SNAPSHOT]. "BOX@", the last
// snapshot, is an empty name on the wire, which is not the same as none.
func snapshotQuery(ref string) (box string, query url.Values) {
	box, snapshot, at := forkbox.SplitRef(ref)
	if at {
		query = url.Values{"snapshot": {snapshot}}
	}
	return box, query
}
