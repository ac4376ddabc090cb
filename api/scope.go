// Package api is what daemon and clients say to each other: the types of
// requests and answers, and the table of routes that the server's handlers, the
// client and the OpenAPI document all come from.
package api

// Scope is what a principal must have been given to call a route. The unix peer
// has all of them; a token has those that it was made with.
type Scope string

const (
	// Open is for routes that anyone who reaches the daemon may call: they tell
	// nothing about any user.
	Open    Scope = ""
	Read    Scope = "read"    // look at boxes, execs, changes, receipts, events
	Boxes   Scope = "boxes"   // make, start, stop, fork, snapshot and remove boxes
	Exec    Scope = "exec"    // run commands in boxes, and end them
	Files   Scope = "files"   // read and write files of boxes
	Apply   Scope = "apply"   // change reality: apply, undo
	Secrets Scope = "secrets" // keep secrets for boxes, and let boxes see the host's
	Policy  Scope = "policy"  // change what boxes may use and reach
	Admin   Scope = "admin"   // the store, tokens, the audit trail, the daemon itself
)

// Scopes are all that a token can have, in the order in which help names them.
var Scopes = [...]Scope{Read, Boxes, Exec, Files, Apply, Secrets, Policy, Admin}
