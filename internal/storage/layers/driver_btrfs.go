package layers

import "errors"

// btrfs makes tops and layers subvolumes, and one of the other by a snapshot:
// that takes the same time whatever is in it and whoever writes to it. The
// snapshots are writable: a layer's redirects are rewritten when the
// directories of reality that they lead to have moved.
type btrfs struct{}

func (btrfs) name() string { return "btrfs" }
func (btrfs) stacks() bool { return false }

var errNotBtrfs = errors.New("the store does not lie on btrfs")
