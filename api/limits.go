package api

import (
	"time"

	"github.com/forkbox/forkbox"
)

// ExtendRequest gives a box more time. By has to be there, and above zero.
type ExtendRequest struct {
	By time.Duration `json:"by_ns"`
}

// HoldList is how each resource can be limited on this host.
type HoldList struct {
	Holds map[forkbox.Resource]forkbox.Holding `json:"holds"`
}

// PolicyDocument is the limits that a box would get.
type PolicyDocument struct {
	Policy forkbox.Policy `json:"policy"`
}
