package forkbox

import (
	"strings"
	"time"
)

// Snapshot is a point in a box's life that can be gone back to and forked. It
// lasts until its owner removes it or its box; the layers it consists of live on
// where another box needs them.
type Snapshot struct {
	ID      string    `json:"id"`
	Box     string    `json:"box"`      // the box's id
	BoxName string    `json:"box_name"` // as it was then
	Owner   Owner     `json:"owner"`
	Name    string    `json:"name"` // unique in its box
	Message string    `json:"message,omitempty"`
	Created time.Time `json:"created"`
	// Auto says that no user asked for it: a rollback made it, to be undone, or
	// a fork, a template or an export of a box as it was then.
	Auto bool `json:"auto,omitempty"`
	// Layers are what the box consisted of, the topmost first, and Base is
	// what they lay over.
	Layers []string `json:"layers"`
	Base   Base     `json:"base"`
	// Unresolved is as it was in the [Box].
	Unresolved Strings `json:"unresolved,omitempty"`
	// Paused is how long the processes of a busy box were frozen for it.
	Paused time.Duration `json:"paused_ns,omitempty"`
	// Parent is the snapshot that the box stood on when this one was made.
	Parent string `json:"parent,omitempty"`
}

// SnapshotSpec is what snapshot to make. Every field may be zero.
type SnapshotSpec struct {
	Name    string `json:"name,omitempty"` // a number if empty
	Message string `json:"message,omitempty"`
}

// RollbackSpec is where to go back to.
type RollbackSpec struct {
	To    string `json:"to,omitempty"` // name or id; the last that no rollback made if empty
	Force bool   `json:"force,omitempty"`
}

// Rollback is what a rollback did.
type Rollback struct {
	Box  Box      `json:"box"`
	To   Snapshot `json:"to"`
	Kept Snapshot `json:"kept"` // what was there before
}

// ForkSpec is what children to make. Every field may be zero.
type ForkSpec struct {
	// Name is the child's; with a Count above one each gets a number after it.
	Name  string `json:"name,omitempty"`
	Count int    `json:"count,omitempty"` // one if zero
	// Net is the children's network; the parent's if empty.
	Net Net `json:"net,omitempty"`
}

// Fork is what a fork made: one snapshot, and children each of which
// succeeded or failed by itself.
type Fork struct {
	Snapshot Snapshot `json:"snapshot"`
	Children []Child  `json:"children"`
}

// Child is one box that was to be made of a snapshot.
type Child struct {
	Name  string `json:"name,omitempty"`
	Box   *Box   `json:"box,omitempty"`
	Error *Error `json:"error,omitempty"`
}

// Template is a named start for boxes. It holds its layers itself: the box it
// was made from may go.
type Template struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"` // unique per owner
	Owner   Owner     `json:"owner"`
	Message string    `json:"message,omitempty"`
	Created time.Time `json:"created"`
	From    string    `json:"from"` // BOX@SNAPSHOT as it was called, for people
	Parent  string    `json:"parent,omitempty"`
	// What its boxes begin with.
	Base   Base     `json:"base"`
	Layers []string `json:"layers"`
	// Services are copies that its boxes have, as [Box.Services].
	Services []BoxService `json:"services,omitempty"`
	Net      Net          `json:"net"`
	Network  Network      `json:"network,omitzero"`
	Dir      string       `json:"dir"`
	Env      Strings      `json:"env,omitempty"`
	// AllowSecrets, Places, Unresolved and Lineage are as in [Box].
	AllowSecrets []string   `json:"allow_secrets,omitempty"`
	Places       Strings    `json:"places,omitempty"`
	Unresolved   Strings    `json:"unresolved,omitempty"`
	Lineage      []Ancestor `json:"lineage,omitempty"`
	// Warm is how many boxes are kept ready, so that to make one costs only an
	// exec.
	Warm int `json:"warm,omitempty"`
}

// TemplateSpec is what template to make.
type TemplateSpec struct {
	Name    string `json:"name"`
	From    string `json:"from"` // BOX[@SNAPSHOT]
	Message string `json:"message,omitempty"`
	Warm    int    `json:"warm,omitempty"`
}

// Family is everything that one owner forked, to draw who came from what.
type Family struct {
	Boxes     []Box      `json:"boxes"`
	Snapshots []Snapshot `json:"snapshots"`
	Templates []Template `json:"templates"`
}

// SplitRef takes BOX@SNAPSHOT apart. at says whether there was an @: with one
// and no name after it the last snapshot is meant.
func SplitRef(ref string) (box, snapshot string, at bool) {
	return strings.Cut(ref, "@")
}
