//go:build !linux

package layers

import (
	"context"
	"os"

	"github.com/forkbox/forkbox"
)

func linuxOnly(op string) error {
	return forkbox.Errorf(forkbox.Unsupported, op, "the store of layers works on Linux only")
}

func removeTree(context.Context, string, string) error { return linuxOnly("delete a box's files") }

func cloneTree(context.Context, string, string, sharing, bool) error {
	return linuxOnly("copy a box's files")
}

func trySharing(string) error { return linuxOnly("share the blocks of files") }

func (btrfs) mkdir(string) error { return errNotBtrfs }

func (btrfs) clone(context.Context, string, string, bool) error { return errNotBtrfs }

func (btrfs) try(string) error { return errNotBtrfs }

func rename(from, to string) error { return os.Rename(from, to) }

func count(context.Context, []*owner, *Usage) error { return linuxOnly("count what the store takes") }

func isSubvolume(string) bool { return false }

func giveBack(string) {}

// HostFree is what is left of the filesystem that the store lies on.
func (s *Store) HostFree() (bytes, inodes, total int64, err error) {
	return 0, 0, 0, linuxOnly("look how full the disk is")
}

func spread(string) {}
