package api

import "github.com/forkbox/forkbox"

// ConnLine is one line of the connections as the API sends them: a connection,
// or at the end what went wrong.
type ConnLine struct {
	*forkbox.Conn
	Error *forkbox.Error `json:"error,omitempty"`
}
