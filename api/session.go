package api

import "github.com/forkbox/forkbox"

// Protocol is what an exec's connection is upgraded to.
const Protocol = "forkbox-exec/1"

// Message is what the two ends of an exec's connection say. The caller begins
// with stdio, which carries the open files; the daemon answers started or
// error, and ends with exit. In between the caller may send signal and resize, and
// before the answer give-up.
type Message struct {
	Type string `json:"type"`
	// Box and Request are of an exec that follows another on its connection.
	// With Create it is in a new box, and the answer says in which.
	Box     string         `json:"box,omitempty"`
	Create  *CreateRequest `json:"create,omitempty"`
	Request *ExecRequest   `json:"request,omitempty"`
	Made    *forkbox.Box   `json:"made,omitempty"`
	Have    []bool         `json:"have,omitempty"`  // stdio: which of the three are open
	Extra   []int          `json:"extra,omitempty"` // stdio: the numbers of the files after them
	Exec    *forkbox.Exec  `json:"exec,omitempty"`
	Error   *forkbox.Error `json:"error,omitempty"`
	Signal  int            `json:"signal,omitempty"`
	Size    *forkbox.Size  `json:"size,omitempty"`
	// Text is what the caller should know while the exec runs.
	Text string `json:"text,omitempty"`
	// Stopped says that the box was stopped, as the request asked.
	Stopped bool `json:"stopped,omitempty"`
}

// The types of a [Message].
const (
	MsgStdio   = "stdio"
	MsgExec    = "exec" // stdio for the next exec, when the one before has ended
	MsgStarted = "started"
	MsgError   = "error"
	MsgExit    = "exit"
	MsgNote    = "note" // the box was paused, or goes on
	MsgSignal  = "signal"
	MsgResize  = "resize"
	// MsgGiveUp takes back what still waits for its place in the queue. The
	// answer comes in any case: it names the box where one was made.
	MsgGiveUp = "give-up"
)
