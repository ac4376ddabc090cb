package forkbox

import "time"

// GCSpec is what to clear away. The zero value applies the daemon's policy.
type GCSpec struct {
	DryRun bool `json:"dry_run,omitempty"`
	// OlderThan and IdleFor, where given, remove boxes made, or last used,
	// longer ago than that.
	OlderThan time.Duration `json:"older_than_ns,omitempty"`
	IdleFor   time.Duration `json:"idle_for_ns,omitempty"`
	// MaxSize, where given, removes the least recently used until all that is
	// left takes no more bytes than this.
	MaxSize int64 `json:"max_size,omitempty"`
	// Unreviewed also removes boxes with changes that were neither applied nor
	// discarded.
	Unreviewed bool `json:"unreviewed,omitempty"`
}

// GC is what was cleared away, or would be.
type GC struct {
	DryRun  bool        `json:"dry_run,omitempty"`
	Removed []Collected `json:"removed"`
	Kept    []Collected `json:"kept"` // what the age, idle time or size spoke against, and why it stays
	Freed   int64       `json:"freed_bytes"`
}

// Collected is one box, snapshot or layer and why it goes or stays.
type Collected struct {
	Kind  string `json:"kind"` // "box", "snapshot", "layer", "base"
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	Why   string `json:"why"`
	Bytes int64  `json:"bytes,omitempty"`
	Error *Error `json:"error,omitempty"`
}

// Usage is what takes the space. Bytes that several things share are counted
// once in Total and Shared, and in no item's Own.
type Usage struct {
	Total  int64      `json:"total_bytes"`
	Shared int64      `json:"shared_bytes"`
	Other  int64      `json:"other_bytes"` // receipts, the ledger, what is being deleted
	Items  []UsedItem `json:"items"`
}

// UsedItem is what one box, snapshot, template or base takes.
type UsedItem struct {
	Kind string `json:"kind"` // "box", "snapshot", "template", "base"
	ID   string `json:"id"`
	Name string `json:"name"`
	// Own is what removing it alone frees; All is what it consists of.
	Own   int64 `json:"own_bytes"`
	All   int64 `json:"all_bytes"`
	Files int64 `json:"files"`
}

// Stored is what a provider's files take on the disk.
type Stored struct {
	Boxes  map[string]StoredBytes // by id
	Layers map[string]StoredBytes // by id
	Roots  map[string]StoredBytes // by the directory
	Other  int64                  // what is neither
	Total  int64                  // every file once, however many names it has
}

// StoredBytes are those of one box, layer or root: Own are of files that
// nothing else has.
type StoredBytes struct{ Own, All, Files int64 }
