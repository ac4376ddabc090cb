package api

import (
	"time"

	"github.com/forkbox/forkbox"
)

// PortList is the published ports of a box.
type PortList struct {
	Ports []forkbox.Port `json:"ports"`
}

// OpenRequest names a port of a box.
type OpenRequest struct {
	Port int `json:"port"`
}

// OpenResult is where a browser reaches it.
type OpenResult struct {
	URL string `json:"url"`
}

// WaitPortRequest is a port of a box to wait for, and how long; a zero Timeout is
// the daemon's own patience.
type WaitPortRequest struct {
	Port    int           `json:"port"`
	Timeout time.Duration `json:"timeout_ns,omitempty"`
}
