package forkbox

import (
	"io/fs"
	"os"
	"time"
)

// Identity tells whether a file is still the one that was looked at: whatever
// is done to a file changes the time of its inode, and replacing it changes
// the inode.
type Identity struct {
	Dev   uint64 `json:"dev"`
	Ino   uint64 `json:"ino"`
	Ctime int64  `json:"ctime"` // nanoseconds since 1970
	Size  int64  `json:"size"`
}

// Node is a file, a directory, a symlink … with all that it consists of but
// its content.
type Node struct {
	Identity
	Mode     fs.FileMode // with type bits
	UID, GID int
	ModTime  time.Time
	Rdev     uint64            // of a device
	Nlink    uint64            // names it has
	Target   string            // of a symlink
	Xattrs   map[string][]byte // those that belong to the file, ACLs included
}

// Sides is a changed path as the box has it (new) and as reality has it now
// (old; for a renamed directory, at From). It can be used only while the
// change is being yielded. What is not there is fs.ErrNotExist; the old side
// of a hidden path is never there.
type Sides interface {
	Old() (Node, error)
	New() (Node, error)
	// OpenOld and OpenNew open the content of a regular file.
	OpenOld() (*os.File, error)
	OpenNew() (*os.File, error)
	// Copied says whether the box's file began as a copy of one in the base:
	// when there is none now, reality has deleted it since.
	Copied() bool
	// Below yields everything that reality has below an old directory that
	// is deleted or replaced. kept marks what the box neither saw nor
	// deleted: hidden paths and mount points. What is below them is not
	// yielded.
	Below(yield func(path string, node Node, kept bool) error) error
}
