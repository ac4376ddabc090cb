package api

import "github.com/forkbox/forkbox"

// CallList is entries of the audit trail, the oldest first.
type CallList struct {
	Calls []forkbox.Call `json:"calls"`
}
