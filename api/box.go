package api

import (
	"time"

	"github.com/forkbox/forkbox"
)

// CreateRequest asks for a new box. The zero value is a fork of reality with a
// generated name and the network that the host gives to those who say nothing.
type CreateRequest struct {
	Name string `json:"name,omitempty"`
	// From is "reality" (or nothing), BOX@SNAPSHOT, "empty", "dir:/a/b", or
	// "base:ID" of one that POST /v1/bases made.
	From         string          `json:"from,omitempty"`
	Template     string          `json:"template,omitempty"` // instead of From
	Dir          string          `json:"dir,omitempty"`
	Env          forkbox.Strings `json:"env,omitempty"`
	AllowSecrets []string        `json:"allow_secrets,omitempty"`
	// Net is "none", "policy", "host" or the name of a team, and NetWish what
	// it is to reach.
	Net     string          `json:"net,omitempty"`
	NetWish forkbox.NetWish `json:"net_wish,omitzero"`
	// Wish is what limits it is to have.
	Wish forkbox.Wish `json:"wish,omitzero"`
	// With are services of this machine that the box gets copies of, by name or
	// port ("all" for all), and Pause for how long one may stand still while its
	// data is copied. They are up when the box is there.
	With  []string       `json:"with,omitempty"`
	Pause *time.Duration `json:"pause_ns,omitempty"`
	// Services are settings for services, by the names that With may have.
	Services map[string]forkbox.ServiceSettings `json:"services,omitempty"`
	// Passing says that nothing of it will land: then what it was forked from
	// is not kept, which a merge would need.
	Passing bool `json:"passing,omitempty"`
}

// StopRequest says how long processes get to end by themselves. A nil Grace is
// the daemon's own choice.
type StopRequest struct {
	Grace *time.Duration `json:"grace_ns,omitempty"`
}

// BoxList is a list of boxes.
type BoxList struct {
	Boxes []forkbox.Box `json:"boxes"`
	Next  string        `json:"next,omitempty"` // the cursor of the rest
}
