//go:build linux

package boxinit

import (
	"os"

	"github.com/forkbox/forkbox"
)

// What the daemon and a box's init say to each other, over internal/wire.
// Every request that has a number gets one reply with it; exits come as replies with
// number 0. Neither end trusts the other's words further than it must: init
// runs among the box's processes, and root in the box could speak for it.

// Verb is what a request asks for.
type Verb string

const (
	DoHello   Verb = "hello" // who runs, and the exits that were not acknowledged
	DoExec    Verb = "exec"
	DoSignal  Verb = "signal"
	DoKill    Verb = "kill"
	DoResize  Verb = "resize"
	DoSuspend Verb = "suspend" // stop it as ctrl-Z would
	DoList    Verb = "list"
	DoStop    Verb = "stop"
	DoAck     Verb = "ack"     // the exit of ID is in the ledger
	DoClaim   Verb = "claim"   // the spare becomes the box named ID
	DoAttach  Verb = "attach"  // relay what ID writes to these files too
	DoStream  Verb = "stream"  // have ID read and written over the link that comes along
	DoDevice  Verb = "device"  // give the box's TUN device
	DoAsk     Verb = "ask"     // give what asks about the box's sockets
	DoWhose   Verb = "whose"   // say which exec started the process PID
	DoDial    Verb = "dial"    // connect to Port of the box, and relay
	DoFiles   Verb = "files"   // start what reads and writes files
	DoRefresh Verb = "refresh" // see what reality has now
)

// Request is what the daemon says.
type Request struct {
	Number int                 `json:"n"`
	Verb   Verb                `json:"verb"`
	ID     string              `json:"id,omitempty"`
	Exec   *ExecArgs           `json:"exec,omitempty"`
	Signal int                 `json:"signal,omitempty"`
	Grace  forkbox.Grace       `json:"grace,omitempty"`
	Size   forkbox.Size        `json:"size,omitzero"`
	Hosts  []byte              `json:"hosts,omitempty"`
	Have   [2]bool             `json:"have,omitzero"`  // which of in and out come along
	Last   bool                `json:"last,omitempty"` // the end of in is that of the exec's stdin
	Join   *forkbox.StreamJoin `json:"join,omitempty"`
	Port   int                 `json:"port,omitempty"`
	Agent  *FilesArgs          `json:"agent,omitempty"`
	PID    int                 `json:"pid,omitempty"`

	Fetches bool `json:"-"` // a file is to come with the answer
}

// isNotice says whether the daemon does not wait for an answer, and init is done at once:
// to wake the daemon for it would cost more than what it says.
func (r *Request) isNotice() bool {
	return r.Number == 0 && (r.Verb == DoClaim || r.Verb == DoAck)
}

// ExecArgs goes with files: in, out, err and the log, as Have says, then the
// extra ones with the numbers in Extra.
type ExecArgs struct {
	forkbox.ExecSpec
	Owner  forkbox.Owner `json:"owner"`
	LogCap int64         `json:"log_cap"`
	Have   [4]bool       `json:"have"`
	Extra  []int         `json:"extra,omitempty"`
	// Stream is instead of in, out and err.
	Stream *forkbox.StreamSpec `json:"stream,omitempty"`
	// Enter is how many files to write to come last, by which the exec enters
	// the cgroup whose name ends with Group.
	Enter int    `json:"enter,omitempty"`
	Group string `json:"group,omitempty"`
}

// Reply is what init says.
type Reply struct {
	Number    int               `json:"n"`
	Error     *forkbox.Error    `json:"error,omitempty"`
	Running   []string          `json:"running,omitempty"`
	Exec      string            `json:"exec,omitempty"`
	Ended     []Exited          `json:"ended,omitempty"`
	Processes []forkbox.Process `json:"processes,omitempty"`
	Exited    *Exited           `json:"exited,omitempty"`
	Stopped   bool              `json:"stopped,omitempty"`
	At        *forkbox.StreamAt `json:"at,omitempty"`

	Files []*os.File `json:"-"` // that come along
}

// Exited is the end of an exec.
type Exited struct {
	ID     string         `json:"id"`
	Exit   forkbox.Exit   `json:"exit"`
	Output forkbox.Output `json:"output"`
}

// Config is init's one argument.
type Config struct {
	Listen   int         `json:"listen"` // the listening socket
	Net      forkbox.Net `json:"net"`
	Rootless bool        `json:"rootless"`
	TUN      int         `json:"tun,omitempty"` // the host's device file, where the network is a gate's
	// LetIn are ports of the box's loopback that lead to the host's, through the gate.
	LetIn []int `json:"let_in,omitempty"`
	// Files and MaxFiles are the limits on open files that execs start with;
	// the Go runtime raises them for init.
	Files    uint64 `json:"files"`
	MaxFiles uint64 `json:"max_files"`
	// A spare has no name yet; these are the files that will say it.
	Spare   bool `json:"spare,omitempty"`
	HostsFD int  `json:"hosts_fd,omitempty"`
	NameFD  int  `json:"name_fd,omitempty"`
}
