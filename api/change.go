package api

import "github.com/forkbox/forkbox"

// ReceiptList is a list of receipts.
type ReceiptList struct {
	Receipts []forkbox.Receipt `json:"receipts"`
	Next     string            `json:"next,omitempty"` // the cursor of the rest
}

// UndoRequest takes an apply back.
type UndoRequest = forkbox.UndoSpec

// DiscardRequest puts paths of a box back to the base.
type DiscardRequest struct {
	forkbox.Selection
}

// DiscardResult says what was put back.
type DiscardResult struct {
	Paths forkbox.Strings `json:"paths"`
}

// ChangeList is what a box changed.
type ChangeList struct {
	Changes []forkbox.Change `json:"changes"`
	Summary forkbox.Summary  `json:"summary"`
	// Error is what failed after the list had begun.
	Error *forkbox.Error `json:"error,omitempty"`
}
