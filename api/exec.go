package api

import (
	"time"

	"github.com/forkbox/forkbox"
)

// What happens to an exec whose caller goes away before it ends.
const (
	KillOnDisconnect = "kill" // it ends, with everything it started
	KeepOnDisconnect = "keep"
)

// ExecRequest asks to run a command.
type ExecRequest struct {
	forkbox.ExecSpec
	// ExtraEnv was asked for by name, so it is passed even where it looks
	// like a credential.
	ExtraEnv     forkbox.Strings `json:"extra_env,omitempty"`
	OnDisconnect string          `json:"on_disconnect,omitempty"` // default: keep
	// Stop stops the box when the command has ended, before its exit is
	// reported: what it left running ends with it.
	Stop bool `json:"stop,omitempty"`
	// Stdin is what a detached exec reads.
	Stdin []byte `json:"stdin,omitempty"`
	// Wish is what limits it is to have, beside those of its box.
	Wish forkbox.Wish `json:"wish,omitzero"`
}

// SignalRequest sends a signal to an exec.
type SignalRequest struct {
	Signal int `json:"signal"`
}

// KillRequest ends an exec with its tree. A zero grace is KILL at once.
type KillRequest struct {
	Grace time.Duration `json:"grace_ns,omitempty"`
}

// ExecList is a list of execs.
type ExecList struct {
	Execs []forkbox.Exec `json:"execs"`
	Next  string         `json:"next,omitempty"` // the cursor of the rest
}

// Suspended is what became of a ctrl-Z.
type Suspended struct {
	Stopped bool `json:"stopped"` // the exec stands still; the signal CONT has it go on
}

// RunRequest asks for a new box with a command in it.
type RunRequest struct {
	Create CreateRequest `json:"create"`
	Exec   ExecRequest   `json:"exec"`
}
