package forkbox

import (
	"encoding/json"
	"time"
)

// Bookkeeping is what a daemon notes of a box for the next daemon, should it
// crash, and for itself. It is part of the box's record and not of what the API
// answers.
type Bookkeeping struct {
	// Rebase names the receipt whose moves of directories in reality the box's
	// layers are being adapted to; a restart finishes that.
	Rebase string `json:"rebase,omitempty"`
	// Syncing is the sync that writes to the box, or was interrupted when it did;
	// what uses the box next decides that first.
	Syncing *Syncing `json:"syncing,omitempty"`
	// Saving is the layer that what the box wrote is becoming; a restart
	// finishes that. Shelved counts how often that happened.
	Saving  string `json:"saving,omitempty"`
	Shelved int    `json:"shelved,omitempty"`
	// Warned says that the owner was told that the box's time is nearly up.
	Warned bool `json:"warned,omitempty"`
	// Boot is the host's run in which it was last started.
	Boot string `json:"boot,omitempty"`
	// Ran says that it ran when its removal began: that it came to rest is told
	// with its removal.
	Ran bool `json:"ran,omitempty"`
	// Settles is the still that the box is made to start a service on once. It goes
	// when that is done, or with the daemon that did it.
	Settles string `json:"settles,omitempty"`
}

// Syncing is a sync that goes on.
type Syncing struct {
	Landing string    `json:"landing"` // its journal, among the receipts
	Fence   time.Time `json:"fence"`   // that the box has when it is done
}

// StoredBox is a box as ledgers, and the records of the store, keep it: with its
// bookkeeping.
type StoredBox struct {
	Box
	Bookkeeping
	// StaleBy is in records from before Box.Stale had the receipt.
	StaleBy string `json:"stale_by,omitempty"`
}

// Stored is the box as it is kept.
func (b Box) Stored() StoredBox { return StoredBox{Box: b, Bookkeeping: b.Bookkeeping} }

// Restored is the box that was kept.
func (s StoredBox) Restored() Box {
	s.Box.Bookkeeping = s.Bookkeeping
	if s.Stale != nil && s.Stale.Receipt == "" {
		s.Stale.Receipt = s.StaleBy
	}
	return s.Box
}

// BoxRecord is a box with its snapshots, as the store keeps it for a ledger
// that is lost.
type BoxRecord struct {
	Box       Box
	Snapshots []Snapshot
}

// storedRecord is a BoxRecord in its file.
type storedRecord struct {
	Box       StoredBox  `json:"box"`
	Snapshots []Snapshot `json:"snapshots,omitempty"`
}

// MarshalJSON writes the box with its bookkeeping.
func (r BoxRecord) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedRecord{r.Box.Stored(), r.Snapshots})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *BoxRecord) UnmarshalJSON(text []byte) error {
	var stored storedRecord
	err := json.Unmarshal(text, &stored)
	r.Box, r.Snapshots = stored.Box.Restored(), stored.Snapshots
	return err
}
