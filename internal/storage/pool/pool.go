// Package pool keeps a store in a filesystem of its own: btrfs in one sparse
// file, which the daemon mounts. There every box can be limited, snapshots cost
// nothing, and however much boxes write, the file grows no further than the
// size that it was given.
//
//	<home>/pool.img   the filesystem
//	<home>/pool/      where it is mounted while a daemon or a box uses it
//
// What has its proper name is whole: the file is made under another name and
// renamed. The loop device goes by itself when nothing uses it any more, so
// that neither a crash nor a reboot leaves one.
//
// It needs root. A pool that was made on Linux 6.7 or later has simple quotas,
// and cannot be mounted by an older one.
package pool

import (
	"path/filepath"

	"github.com/forkbox/forkbox"
)

// Smallest is the least size of a pool: below it btrfs is mostly metadata.
const Smallest = 256 << 20

const hintPackage = "install btrfs-progs, which has mkfs.btrfs"

// File is where the pool of a home is kept, whether it has one or not.
func File(home string) string { return filepath.Join(home, "pool.img") }

// Dir is where the pool of a home is mounted, whether it has one or not.
func Dir(home string) string { return filepath.Join(home, "pool") }

// Status is how full a pool is.
type Status struct {
	Size      int64 `json:"size"`      // that it was given
	Used      int64 `json:"used"`      // in it
	Free      int64 `json:"free"`      // in it, for the boxes
	Allocated int64 `json:"allocated"` // what the file takes of the host's disk
	HostFree  int64 `json:"host_free"` // what is left there: less than Free means that the host fills up first
	Simple    bool  `json:"simple"`    // its quotas are of the cheap kind
}

func tooSmall(op string, size int64) error {
	if size >= Smallest {
		return nil
	}
	return forkbox.Errorf(forkbox.Invalid, op, "%d bytes are too few", size).
		Hint("a pool has at least %d MiB", Smallest>>20)
}
