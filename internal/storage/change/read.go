// Package change reads what a box changed off its upper directories, and off
// the layers below them that its snapshots are made of.
//
// Overlayfs writes a file to the upper directory when the box first changes
// it, and marks what it deleted (whiteouts), replaced (opaque directories) and
// moved (redirects). So the cost of reading depends on what the box did, never
// on the size of the machine (promise 9). That a file is in the upper does not
// mean that it differs: it may have been put back as it was.
package change

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
)

// Upper is one filesystem of the machine as the box changed it.
type Upper struct {
	Mount string // the mount point in the machine
	Dir   string // the upper directory; empty if the box has none here
	// Layers are the directories of the immutable layers that lie between the
	// upper directory and the base, the topmost first.
	Layers []string
}

// Source is what to read.
type Source struct {
	Uppers []Upper
	// Base is the root of what the box was forked from: "/".
	Base string
	// XattrPrefix is that of overlayfs's own extended attributes:
	// "trusted.overlay." for root, "user.overlay." rootless.
	XattrPrefix string
	// Hidden are absolute paths whose base the box was not shown: to the box
	// they were empty. Changes there are marked, and nothing of the base, not
	// even a size, is told.
	Hidden []string
	// IgnoreOwner is for rootless boxes: they know a single user, so the
	// owner of a file that was copied up says nothing.
	IgnoreOwner bool
	// Reader is the user that the changes are told to, where that user may not
	// read all that this process may: see audience. It may be nil.
	Reader *forkbox.Owner
	// Skip leaves out a path and everything below it: places where the box
	// had something else mounted. It may be nil.
	Skip func(path string) bool
}

// Yield is given a change and the way to look closer at it, which is valid
// until it returns.
type Yield = func(forkbox.Change, forkbox.Sides) error

// Read calls yield for every change, sorted by [forkbox.ComparePaths]. It holds the names
// of one directory for each level it has descended, and files with several
// names until all of them were seen, nothing else. The box may be running and
// the base may change meanwhile; what vanishes while it is read is no error.
func Read(ctx context.Context, src Source, yield Yield) error {
	src.Uppers = slices.Clone(src.Uppers)
	slices.SortFunc(src.Uppers, func(a, b Upper) int { return forkbox.ComparePaths(a.Mount, b.Mount) })
	_, err := read(ctx, src, yield)
	return forkbox.Wrap("read the box's changes", err)
}

// effort counts what was done in the base. Promise 9 is tested by it.
type effort struct {
	lookups  int // names asked for
	listings int // directories listed
}
