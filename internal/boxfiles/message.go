package boxfiles

import (
	"time"

	"github.com/forkbox/forkbox"
)

// Op is what a request asks for.
type Op string

const (
	OpStat   Op = "stat"
	OpRead   Op = "read"
	OpWrite  Op = "write"
	OpList   Op = "list"
	OpMkdir  Op = "mkdir"
	OpMove   Op = "move"
	OpRemove Op = "remove"
	OpWatch  Op = "watch"
	OpTarOut Op = "tar-out"
	OpTarIn  Op = "tar-in"
)

// Request is the first message on a connection. Paths are absolute, as the box
// sees them; they are bytes, since names need not be UTF-8, which JSON would alter.
type Request struct {
	Op   Op     `json:"op"`
	Path []byte `json:"path"`
	To   []byte `json:"to,omitempty"` // of a move

	Mode      *uint32    `json:"mode,omitempty"`  // permissions of what is written
	Modified  *time.Time `json:"mtime,omitempty"` // time of what is written
	Parents   bool       `json:"parents,omitempty"`
	Recursive bool       `json:"recursive,omitempty"`
	Follow    bool       `json:"follow,omitempty"`  // a symlink means what it leads to
	Replace   bool       `json:"replace,omitempty"` // a move may replace a file
	Owners    bool       `json:"owners,omitempty"`  // an archive's owners are restored, with setuid bits
	New       bool       `json:"new,omitempty"`     // what is written must not be there yet
	Match     string     `json:"match,omitempty"`   // what is replaced must have this tag

	After []byte `json:"after,omitempty"` // a listing goes on after this path, relative to Path
	Limit int    `json:"limit,omitempty"`
	Depth int    `json:"depth,omitempty"` // of a listing: 1 is the directory itself
}

// Span asks for a part of a file that is open.
type Span struct {
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
}

// Type is what a name stands for.
type Type string

const (
	File      Type = "file"
	Directory Type = "directory"
	Symlink   Type = "symlink"
	Fifo      Type = "fifo"
	Socket    Type = "socket"
	Device    Type = "device"
	Unknown   Type = "unknown"
)

// Info is what a listing says of one name.
type Info struct {
	Path     []byte    `json:"path"` // of a listing relative to what is listed, else as it was asked for
	Type     Type      `json:"type"`
	Mode     uint32    `json:"mode"` // permission bits, with setuid, setgid and sticky
	Size     int64     `json:"size"`
	UID      int       `json:"uid"`
	GID      int       `json:"gid"`
	Modified time.Time `json:"mtime"`
	Target   []byte    `json:"target,omitempty"` // of a symlink
	Tag      string    `json:"tag,omitempty"`    // changes with the content
	// Endless says that Size means nothing: the kernel makes the content as it is
	// read, as that of files in /proc.
	Endless bool `json:"endless,omitempty"`
}

// Page is a part of a listing.
type Page struct {
	Entries []Info `json:"entries"`
}

// Change is what happened to a name below a watched directory.
type Change struct {
	Path []byte     `json:"path,omitempty"` // relative to what is watched; empty is itself
	Kind ChangeKind `json:"kind"`
}

// ChangeKind is what happened.
type ChangeKind string

const (
	Created ChangeKind = "created"
	Changed ChangeKind = "changed" // content, or mode and owner
	Removed ChangeKind = "removed"
	// Overflow says that more happened than could be told: whoever watches looks again.
	Overflow ChangeKind = "overflow"
)

// Changes is what happened within a moment.
type Changes struct {
	Changes []Change `json:"changes"`
}

// Outcome is how a request ended.
type Outcome struct {
	Error *forkbox.Error `json:"error,omitempty"`
	Info  *Info          `json:"info,omitempty"`
	Next  []byte         `json:"next,omitempty"` // where the listing goes on; empty is its end
	Count int            `json:"count,omitempty"`
	// Skipped are paths of an archive that could not be kept in it or unpacked from it, with
	// the reason; at most a few of them.
	Skipped []Skipped `json:"skipped,omitempty"`
}

// Skipped is what was left out, and why.
type Skipped struct {
	Path []byte `json:"path"`
	Why  string `json:"why"`
}

// MaxSkipped is how many are named.
const MaxSkipped = 100

// WhySocket is why a socket is left out: it is of use only to who listens on it.
const WhySocket = "it is a socket"

// MaxPath is the longest path, as the kernel has it.
const MaxPath = 4096

// MaxPage is how many names one listing may ask for. Names are sorted, and no
// more than a page of them is held at once, however large the directory is.
const (
	MaxPage     = 10_000
	DefaultPage = 1_000
	MaxDepth    = 64
)
