// Package land changes a tree of files whole or not at all, and takes it back.
//
// A landing stages everything new in directories of its own, beside the
// targets and on their filesystems, makes it durable, and then flips the tree
// with renames. Each flip is atomic and can be reversed, because what was
// there before is not overwritten: it ends up, the same inode, in the slot
// that the new object came from. A journal says which slot belongs to which
// path, and a marker beside it what is going on. Whatever interrupts a landing
// (kill -9, a power cut, a full disk), [Recover] finds the marker and drives
// every flip to one side.
//
//	staging ──Commit──▶ committing ──▶ done ──Undo──▶ undoing ──▶ undone
//	   │                    │            ▲               │
//	   ▼ Abort, Recover     ▼ Recover    └──── Recover ──┘
//	 (no trace)          (no trace)
//
// A user may edit the tree between a crash and the recovery. What is then
// neither the old nor the new object is left alone, with all that is kept for
// it, and the landing is [Torn].
package land

import (
	"encoding/json"
	"os"

	"github.com/forkbox/forkbox"
)

// Config of one landing. The same is given to everything that is done with
// it later.
type Config struct {
	// Dir is the landing's own directory, which Begin creates: the journal
	// and, where they can be moved there, the old objects. Its base name is
	// the landing's id and part of the names of the staging directories.
	Dir string
	// Root is the directory to land in: "/", or a running box's root. All
	// paths are resolved beneath it. An O_PATH descriptor will do.
	Root *os.File
	// Owner is who lands. When the process is root and this is a user, the
	// tree is touched with that user's rights and no other. With nil, the
	// process's own rights count.
	Owner *forkbox.Owner
	// Keep keeps the old objects so that the landing can be undone. Without
	// it, Commit removes them and the journal.
	Keep bool
	// Rewritten is for files that tools write anew without changing what they
	// say. For such a path it returns what says of a content whether it is still
	// what landed there; nil where every byte counts. It may be nil itself.
	Rewritten func(path string) func(content []byte) bool
	// Remounted says that the tree may have been mounted anew since the landing
	// began, as a box's is when it starts: directories on overlayfs may have
	// other numbers then.
	Remounted bool
	// PutBack is told what was put back when a landing is rolled back: the
	// same objects, of which Now has the new times. It may be nil.
	PutBack func(Entry)
}

// Op is what an item does.
type Op string

const (
	Put    Op = "put"    // something new at a path, in place of what is there
	Remove Op = "remove" // with all that is below it
	Attr   Op = "attr"   // mode, owner and extended attributes of what stays
	Move   Op = "move"   // a directory with all that is in it
)

// Item is one change to the tree.
type Item struct {
	Path string // absolute and clean
	Op   Op
	// Node is what a put or attr makes of the path. A zero ModTime of a put
	// is now.
	Node forkbox.Node
	// Content opens what a regular file consists of. It is called at most
	// once, with the rights of the process, and the file is closed after use.
	Content func() (*os.File, error)
	// Bytes are the content of a regular file that has no Content.
	Bytes []byte
	// Link makes a put a hard link to another path: to one put earlier in
	// this landing, or to one that is in the tree. Where the latter cannot be
	// linked to, Content or Bytes are used; without either that is an error.
	Link string
	// From is where a moved directory was before this landing.
	From string
	// Expect is what the tree has at Path (for a move: at From) as far as the
	// caller looked; nil means nothing. Anything else there is a Conflict.
	Expect *forkbox.Identity
	// Below is what lies in a directory that is removed or replaced, as far as
	// the caller looked. Anything else in it is a Conflict, whenever it comes.
	// Without it, what is there when the item is staged counts.
	Below *Tally
	// KeepOwner gives a put the owner of what it replaces as far as the
	// caller may, else the caller as owner; an attr leaves the owner alone.
	KeepOwner bool
	// Tag is the caller's own. It comes back in entries.
	Tag json.RawMessage
}

// State is what became of a landing.
type State string

const (
	Before State = "before" // nothing landed, no trace is left
	After  State = "after"  // it landed
	Undone State = "undone" // it landed, and was taken back
	Torn   State = "torn"   // not decided where the tree changed under it
	// Between is a landing, or an undo, that goes on or was interrupted: Recover
	// decides it.
	Between State = "between"
)

// Outcome is what Recover found or brought about.
type Outcome struct {
	State State
	// Torn are the paths that were left alone, and why.
	Torn []forkbox.Caution
}

// Entry is one item of a landing, as it is in the journal.
type Entry struct {
	Path string
	Op   Op
	From string
	// Now is what the landing, or its undo, left at Path; nil is nothing, or
	// something that could not be looked at.
	Now *forkbox.Identity
	// Old is what was there before, of a move at From; nil is nothing.
	Old *forkbox.Identity
	// Kept is what it keeps instead; nil is nothing.
	Kept *forkbox.Identity
	// Sum is the SHA-256 of the content that was put: the bytes of a file,
	// the target of a symlink. Zero for everything else.
	Sum [32]byte
	Tag json.RawMessage
}
