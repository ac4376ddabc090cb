package api

import "github.com/forkbox/forkbox"

// NetDocument is the network of a box.
type NetDocument struct {
	Box   string        `json:"box"` // its id
	Name  string        `json:"name"`
	State forkbox.State `json:"state"`
	Net   forkbox.Net   `json:"net"`
	forkbox.Network
}

// NetChange is rules to put in front of a box's own, or to take away; each is
// "allow X" or "deny X". A request does one of the two.
type NetChange struct {
	Add    []string `json:"add,omitempty"`
	Remove []string `json:"remove,omitempty"`
}

// ExplainRequest names what a box might try to reach: a URL, HOST[:PORT] or an
// address.
type ExplainRequest struct {
	Target string `json:"target"`
}
