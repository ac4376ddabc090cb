//go:build linux

package native

import (
	"os"

	"github.com/forkbox/forkbox"
)

// What the daemon and a box's init say to each other, over internal/wire.
// Every request that has a number gets one reply with it; exits come as replies with
// number 0. Neither end trusts the other's words further than it must: init
// runs among the box's processes, and root in the box could speak for it.

type verb string

const (
	doHello   verb = "hello" // who runs, and the exits that were not acknowledged
	doExec    verb = "exec"
	doSignal  verb = "signal"
	doKill    verb = "kill"
	doResize  verb = "resize"
	doSuspend verb = "suspend" // stop it as ctrl-Z would
	doList    verb = "list"
	doStop    verb = "stop"
	doAck     verb = "ack"     // the exit of ID is in the ledger
	doClaim   verb = "claim"   // the spare becomes the box named ID
	doAttach  verb = "attach"  // relay what ID writes to these files too
	doDevice  verb = "device"  // give the box's TUN device
	doAsk     verb = "ask"     // give what asks about the box's sockets
	doWhose   verb = "whose"   // say which exec started the process PID
	doDial    verb = "dial"    // connect to Port of the box, and relay
	doRefresh verb = "refresh" // see what reality has now
)

type request struct {
	Number int           `json:"n"`
	Verb   verb          `json:"verb"`
	ID     string        `json:"id,omitempty"`
	Exec   *execArgs     `json:"exec,omitempty"`
	Signal int           `json:"signal,omitempty"`
	Grace  forkbox.Grace `json:"grace,omitempty"`
	Size   forkbox.Size  `json:"size,omitzero"`
	Hosts  []byte        `json:"hosts,omitempty"`
	Have   [2]bool       `json:"have,omitzero"`  // which of in and out come along
	Last   bool          `json:"last,omitempty"` // the end of in is that of the exec's stdin
	Port   int           `json:"port,omitempty"`
	PID    int           `json:"pid,omitempty"`

	fetches bool // a file is to come with the answer
}

// isNotice says whether nobody waits for the answer, and init is done at once:
// to wake the daemon for it would cost more than what it says.
func (r *request) isNotice() bool {
	return r.Number == 0 && (r.Verb == doClaim || r.Verb == doAck)
}

// execArgs goes with files: in, out, err and the log, as Have says, then the
// extra ones with the numbers in Extra.
type execArgs struct {
	forkbox.ExecSpec
	Owner  forkbox.Owner `json:"owner"`
	LogCap int64         `json:"log_cap"`
	Have   [4]bool       `json:"have"`
	Extra  []int         `json:"extra,omitempty"`
	// Enter is how many files to write to come last, by which the exec enters
	// the cgroup whose name ends with Group.
	Enter int    `json:"enter,omitempty"`
	Group string `json:"group,omitempty"`
}

type reply struct {
	Number    int               `json:"n"`
	Error     *forkbox.Error    `json:"error,omitempty"`
	Running   []string          `json:"running,omitempty"`
	Exec      string            `json:"exec,omitempty"`
	Ended     []exited          `json:"ended,omitempty"`
	Processes []forkbox.Process `json:"processes,omitempty"`
	Exited    *exited           `json:"exited,omitempty"`
	Stopped   bool              `json:"stopped,omitempty"`

	files []*os.File // that come along
}

type exited struct {
	ID     string         `json:"id"`
	Exit   forkbox.Exit   `json:"exit"`
	Output forkbox.Output `json:"output"`
}

// initConfig is init's one argument.
type initConfig struct {
	Listen   int         `json:"listen"` // the listening socket
	Net      forkbox.Net `json:"net"`
	Rootless bool        `json:"rootless"`
	TUN      int         `json:"tun,omitempty"` // the host's device file, where the network is a gate's
	// Files and MaxFiles are the limits on open files that execs start with;
	// the Go runtime raises them for init.
	Files    uint64 `json:"files"`
	MaxFiles uint64 `json:"max_files"`
	// A spare has no name yet; these are the files that will say it.
	Spare   bool `json:"spare,omitempty"`
	HostsFD int  `json:"hosts_fd,omitempty"`
	NameFD  int  `json:"name_fd,omitempty"`
}
