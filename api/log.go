package api

import "github.com/forkbox/forkbox"

// LogLine is one line of a log as the API sends it: a record, or at the end
// what went wrong.
type LogLine struct {
	*forkbox.LogRecord
	Error *forkbox.Error `json:"error,omitempty"`
}
