package api

import "github.com/forkbox/forkbox"

// ErrorBody is how the API, and the CLI with --json, says that something went
// wrong.
type ErrorBody struct {
	Error *forkbox.Error `json:"error"`
	// Request is the id under which the daemon's log and audit trail have it.
	Request string `json:"request_id,omitempty"`
}
