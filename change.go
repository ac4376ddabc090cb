package forkbox

import (
	"io/fs"
	"time"
)

// Kind says how a path differs from the base.
type Kind string

const (
	Added    Kind = "added"
	Modified Kind = "modified" // content
	Deleted  Kind = "deleted"
	Renamed  Kind = "renamed" // a directory moved as a whole; From is where it was
	Mode     Kind = "mode"    // permission bits, owner or extended attributes only
	Type     Kind = "type"    // a file became a directory, a symlink, …
)

// Change is one path's difference between a box and its base. Deleting a
// directory is one change, with Entries the number of paths that were below it.
type Change struct {
	Path    string      `json:"path"` // absolute; see PathBytes for names that are not UTF-8
	Kind    Kind        `json:"kind"`
	Type    string      `json:"type"` // file, dir, symlink, fifo, socket, char, block
	Size    int64       `json:"size"` // in the box; for a deletion, what it was in the base
	OldSize int64       `json:"old_size,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"`
	OldMode fs.FileMode `json:"old_mode,omitempty"`
	ModTime time.Time   `json:"mtime,omitzero"`
	From    string      `json:"from,omitempty"`
	Entries int         `json:"entries,omitempty"`
	// Hidden marks a path whose base the box was not shown (a secret).
	Hidden bool `json:"hidden,omitempty"`
	// PathBytes is set when Path is not valid UTF-8 and so was altered by JSON.
	PathBytes []byte `json:"path_bytes,omitempty"`
}
