package api

import "github.com/forkbox/forkbox"

// RespondAsync is the value of the header Prefer with which a caller does not wait for
// long work: it is answered with 202 and a [forkbox.Operation].
const RespondAsync = "respond-async"

// OperationList is long work, the oldest first.
type OperationList struct {
	Operations []forkbox.Operation `json:"operations"`
	Next       string              `json:"next,omitempty"` // the cursor of the rest
}

// OperationLine is one line of how an operation goes: the operation as it stands, or at
// the end what went wrong with following it.
type OperationLine struct {
	Operation *forkbox.Operation `json:"operation,omitempty"`
	Error     *forkbox.Error     `json:"error,omitempty"`
}
