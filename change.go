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
	Renamed  Kind = "renamed" // From is where it was
	Mode     Kind = "mode"    // permission bits, owner or extended attributes only
	Type     Kind = "type"    // a file became a directory, a symlink, …
	Linked   Kind = "linked"  // the same content, now a hard link to Link
)

// Scope sorts changes by who cares about them.
type Scope string

const (
	Workspace Scope = "workspace" // the git work tree, or directory, the box was made in
	System    Scope = "system"    // elsewhere on the machine
	Noise     Scope = "noise"     // caches, logs, temporary files, what ignore files name
)

// Change is one path's difference between a box and its base. Deleting a
// directory is one change, with Entries the number of paths that were below it.
type Change struct {
	Path    string      `json:"path"` // absolute; see PathBytes for names that are not UTF-8
	Kind    Kind        `json:"kind"`
	Scope   Scope       `json:"scope,omitempty"`
	Type    string      `json:"type"` // file, dir, symlink, fifo, socket, char, block
	Size    int64       `json:"size"` // in the box; for a deletion, what it was in the base
	OldSize int64       `json:"old_size,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"`
	OldMode fs.FileMode `json:"old_mode,omitempty"`
	ModTime time.Time   `json:"mtime,omitzero"`
	From    string      `json:"from,omitempty"` // where a renamed path was in the base
	Link    string      `json:"link,omitempty"` // another path in the box that is the same file
	Entries int         `json:"entries,omitempty"`
	// MovedOut is how many directories the box has moved out of one that it
	// deleted or replaced. What is in them is not among Entries.
	MovedOut int `json:"moved_out,omitempty"`
	// Attrs says which attributes differ: "mode", "owner", "xattr". Of a file
	// whose content differs, extended attributes may not have been compared.
	Attrs []string `json:"attrs,omitempty"`
	// Owner and OldOwner are "uid:gid", set where they differ.
	Owner    string `json:"owner,omitempty"`
	OldOwner string `json:"old_owner,omitempty"`
	// Similarity is how much of a renamed file is as it was, in percent; a
	// directory that moved as a whole has none.
	Similarity int `json:"similarity,omitempty"`
	// Hidden marks a path whose base the box was not shown (a secret).
	Hidden bool `json:"hidden,omitempty"`
	// Drifted marks a path that reality changed after the fence as well.
	Drifted bool `json:"drifted,omitempty"`
	// PathBytes is set when Path is not valid UTF-8 and so was altered by JSON.
	PathBytes []byte `json:"path_bytes,omitempty"`

	// What follows is there when a patch was asked for.

	Plus   int    `json:"plus,omitempty"`  // lines
	Minus  int    `json:"minus,omitempty"` // lines
	Binary bool   `json:"binary,omitempty"`
	Hunks  int    `json:"hunks,omitempty"`
	Patch  []byte `json:"patch,omitempty"` // in git's format; base64 in JSON
}
