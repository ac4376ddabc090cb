package api

import "github.com/forkbox/forkbox"

// Queue is who waits for the host, the next first. Of others only their places
// are in it.
type Queue struct {
	Waiting []forkbox.Waiting `json:"waiting"`
}
