// Package quota has the kernel limit what a directory tree takes on its
// filesystem. There are two ways, and which one there is depends on the
// filesystem:
//
//	btrfs      the tree is a subvolume, and its quota group has a limit.
//	           Bytes only: btrfs does not limit the number of files.
//	ext4, xfs  the tree has a project id, which everything made in it
//	           inherits, and the project has a limit: bytes and files.
//
// Both need root. Writers that pass the limit get EDQUOT or ENOSPC, root in a
// user namespace too.
package quota

import "errors"

// None is the value of a limit that there is not.
const None int64 = -1

// Holder limits trees of one filesystem.
type Holder interface {
	// Name says what holds the limits, for people.
	Name() string

	// Files says whether the number of files is limited and counted too.
	Files() bool

	// Once says that what several trees share is counted for one of them only,
	// the one that it was written in. Else it is counted for each.
	Once() bool

	// Limit has a tree take so much at most, from now on: one that takes more
	// already keeps what it has. It can be repeated with other values, while
	// the tree is written to as well. It never follows a symlink.
	Limit(dir string, bytes, files int64) error

	// Limits are those that the kernel holds for the tree.
	Limits(dir string) (bytes, files int64, err error)

	// Lift takes the limits away. A tree that has none is fine. A snapshot may
	// begin with those of what it was made of.
	Lift(dir string) error

	// Used is what the tree takes, without looking at its files: also what
	// was deleted and is still open. files is None where they are not counted.
	// A tree that the kernel does not count on its own gives ErrUncounted.
	Used(dir string) (bytes, files int64, err error)

	// ID tells trees apart that were counted separately, also when they have
	// been renamed or deleted. It is 0 where the tree is not counted.
	ID(dir string) (uint64, error)

	// Sweep removes the records of trees that are gone, where the kernel
	// keeps them.
	Sweep() error
}

// ErrUncounted says that a tree has no quota group or project of its own.
var ErrUncounted = errors.New("it is not counted on its own")

// Missing is why a directory's filesystem has no quotas.
type Missing struct {
	Why  string
	Hint string // what would help, if anything does
}

func (m *Missing) Error() string { return m.Why }
