package forkbox

import "time"

// ReceiptState says what became of an apply.
type ReceiptState string

const (
	// Landing is an apply, or an undo, that goes on, or was interrupted and is
	// not decided yet: the next apply, undo or start does that.
	Landing ReceiptState = "landing"
	// Applied can be undone.
	Applied ReceiptState = "applied"
	// Undone is an apply that was taken back.
	Undone ReceiptState = "undone"
	// Expired is an apply whose old bytes are gone: it cannot be undone.
	Expired ReceiptState = "expired"
	// Torn could not be decided: reality changed under it meanwhile. Nothing
	// is lost: its old bytes are kept until the owner has looked.
	Torn ReceiptState = "torn"
)

// Receipt is the durable record of one apply to reality.
type Receipt struct {
	ID       string       `json:"id"`
	Box      string       `json:"box"` // its id
	BoxName  string       `json:"box_name"`
	Owner    Owner        `json:"owner"`
	State    ReceiptState `json:"state"`
	Created  time.Time    `json:"created"`
	Undone   time.Time    `json:"undone,omitzero"`
	Message  string       `json:"message,omitempty"`
	Paths    int          `json:"paths"`            // how many it landed
	Bytes    int64        `json:"bytes"`            // that it keeps for an undo
	Merged   int          `json:"merged,omitempty"` // paths merged with what reality did meanwhile
	Workdir  string       `json:"workdir,omitempty"`
	Commit   string       `json:"commit,omitempty"` // the git commit made of it
	Note     string       `json:"note,omitempty"`
	Hash     string       `json:"hash,omitempty"` // of what landed, as `diff --json` prints it
	Entries  []Landed     `json:"entries,omitempty"`
	Left     int          `json:"left,omitempty"`     // changes in scope that stayed in the box
	Cautions []Caution    `json:"cautions,omitempty"` // what was accepted with it
	// Stayed is what else the box had changed; it was not part of the apply.
	Stayed Stayed `json:"stayed,omitzero"`
}

// Stayed counts the changes that an apply left in the box, by whose business
// they are.
type Stayed struct {
	Workspace int `json:"workspace,omitempty"` // not chosen, or decided against
	System    int `json:"system,omitempty"`
	Noise     int `json:"noise,omitempty"` // ignored files, caches
}

// Of counts in the scope's place.
func (s *Stayed) Of(scope Scope) *int {
	switch scope {
	case System:
		return &s.System
	case Noise:
		return &s.Noise
	}
	return &s.Workspace
}

// Landed is one path of a receipt.
type Landed struct {
	Path string `json:"path"`
	// How it got there: a kind of change.
	Kind Kind `json:"kind"`
	// Below is how many paths went with a deleted directory.
	Below int `json:"below,omitempty"`
	// Merged: three ways, with what reality did after the fence.
	Merged bool `json:"merged,omitempty"`
	// Partial: some of its hunks.
	Partial bool `json:"partial,omitempty"`
}

// Move is a directory that was moved as a whole.
type Move struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Caution is something that deserves a second look before it lands.
type Caution struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Drift is a path that reality changed after the fence.
type Drift struct {
	Path string `json:"path"`
	// Both: the box changed it as well.
	Both bool `json:"both,omitempty"`
	// Outcome is what an apply would do: "clean" (merges), "conflict", or
	// "same" where both did the same. Empty where the box did nothing.
	Outcome string `json:"outcome,omitempty"`
	Why     string `json:"why,omitempty"`
}

// UndoSpec says what an undo may overwrite: paths that changed since the apply
// and are to be restored all the same.
type UndoSpec struct {
	Force Strings `json:"force,omitempty"`
	// ForceAll is for all of them.
	ForceAll bool `json:"force_all,omitempty"`
}

// Forces says whether a path is restored although it changed.
func (s UndoSpec) Forces(path string) bool {
	if s.ForceAll {
		return true
	}
	for _, p := range s.Force {
		if Within(path, p) {
			return true
		}
	}
	return false
}
