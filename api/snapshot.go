package api

import "github.com/forkbox/forkbox"

// SnapshotList is a list of snapshots.
type SnapshotList struct {
	Snapshots []forkbox.Snapshot `json:"snapshots"`
	Next      string             `json:"next,omitempty"` // the cursor of the rest
}

// ForkRequest is what children to make, and what limits and network they are to
// have. With empty wishes each has those of the box it is of.
type ForkRequest struct {
	forkbox.ForkSpec
	Wish    forkbox.Wish    `json:"wish,omitzero"`
	NetWish forkbox.NetWish `json:"net_wish,omitzero"`
}
