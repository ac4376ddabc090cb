package forkbox

import "time"

// Call is an entry of the audit trail: a request that changed something, or one
// that was refused. IDs count up.
type Call struct {
	ID   int64     `json:"id"`
	Time time.Time `json:"time"`
	// UID and User are who it was done for; UID is -1 where that is not known.
	UID  int    `json:"uid"`
	User string `json:"user,omitempty"`
	// Kind is how the caller showed who it is: "peer" of the unix socket,
	// "token", "certificate", or "nobody". Via is which token or certificate.
	Kind string `json:"kind"`
	Via  string `json:"via,omitempty"`
	// Label is what the token is called.
	Label string `json:"label,omitempty"`
	From  string `json:"from"` // "unix", or the caller's address
	// Name is the route's, and Target what it was about, as the caller named it.
	Name   string `json:"call"`
	Target string `json:"target,omitempty"`
	Box    string `json:"box,omitempty"` // the id of a box that it made
	// Outcome is "ok", the code of the error, or "begun" of a change of reality
	// whose end the daemon did not live to see.
	Outcome string `json:"outcome"`
	Why     string `json:"why,omitempty"` // the error's words
	Request string `json:"request,omitempty"`
	// Times is how many alike were made into this record; 1 if not said.
	Times int `json:"times,omitempty"`
}

// OutcomeOK and OutcomeBegun are the outcomes that are no code of an error.
const (
	OutcomeOK    = "ok"
	OutcomeBegun = "begun"
)

// CallFilter selects entries of the audit trail. What is empty does not count.
type CallFilter struct {
	UID   *int      // only those done for this user
	Since time.Time // not before this moment
	Who   string    // a user's name or uid, or a token's or certificate's id or name
	// Targets are names of one and the same thing: any of them matches, also
	// followed by @ and more.
	Targets []string
	After   int64 // only later ones than this id
	Limit   int   // no more than the latest so many
}
