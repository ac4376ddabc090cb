package change

import (
	"context"
	"iter"
	"os"
	"time"

	"github.com/forkbox/forkbox"
)

// Trees are two running boxes to compare, by their open root directories.
type Trees struct {
	Old, New *os.File
	// Paths are where to look, sorted by [forkbox.ComparePaths]: all that either of the
	// two changed. Nothing else can differ.
	Paths iter.Seq[Path]
	// Since is when the first of the two was forked. A file that is the same
	// inode in both and was last touched before is not read. Zero reads all.
	Since time.Time
	// Reader is that of a [Source].
	Reader *forkbox.Owner
}

// Path is a place to compare.
type Path struct {
	Name string // absolute and clean
	// Deep compares a directory with all that is below it, where both have
	// one: for what one of them deleted, replaced or moved, under the old
	// name and the new.
	Deep bool
}

// Between calls yield for every difference of two trees, as [Read] does. What
// only the new one has is told with all that is below it. It never follows a
// symlink, and leaves out /proc, /sys and /dev.
func Between(ctx context.Context, trees Trees, yield Yield) error {
	return forkbox.Wrap("compare the boxes", between(ctx, trees, yield))
}

// notFiles are the kernel's, and each box has its own.
var notFiles = []string{"/proc", "/sys", "/dev"}

func isNotFile(path string) bool {
	for _, dir := range notFiles {
		if forkbox.Within(path, dir) {
			return true
		}
	}
	return false
}
