// Package plan is what the two sides of a test machine say to each other: the
// host writes down what to mount and what to run, the guest's init does it and
// tells what happened.
package plan

import "time"

// File is where the guest finds the plan on its root disk.
const File = "/vm/plan.json"

// Init is where the guest finds its init on its root disk.
const Init = "/vm/init"

// Port is the device of the guest on which its init writes events, one JSON
// object a line. It is apart from the console, where the kernel talks.
const Port = "/dev/vport0p1"

// Modules is the directory of the initramfs with the kernel modules that the
// root disk and the port need, named so that they are loaded in order.
const Modules = "/modules"

// User is the unprivileged user of the guest.
const (
	User   = "fbtest"
	UserID = 1000
)

// Plan is all that a machine does from boot to power-off.
type Plan struct {
	Disks []Disk
	Runs  []Run
}

// Disk is mounted before the first run. Without a directory it is swap.
type Disk struct {
	Device, Dir, Type, Options string
}

// Place is where in the tree of control groups a run finds itself.
type Place string

const (
	// Service is a service of root, as a service manager starts it.
	Service Place = "service"
	// Delegated is a group that belongs to the user, below the one that the
	// user's service manager was given with all controllers.
	Delegated Place = "delegated"
)

// Run is one command.
type Run struct {
	Name    string
	Command []string
	Dir     string
	Env     []string
	Place   Place // Service runs as root, Delegated as User
	Timeout time.Duration
}

// Event is something that happened in the guest.
type Event struct {
	Kind   Kind
	Run    int      // which one, from 0
	Output []byte   // of Output
	Status int      // of End: the exit status, -1 when a signal ended it
	Why    string   // of End: what went wrong, but for an exit status
	Left   []string // of End: the processes that it left behind
}

// Kind tells events apart.
type Kind string

const (
	Ready  Kind = "ready" // all is mounted
	Begin  Kind = "begin"
	Output Kind = "output"
	End    Kind = "end"
	Done   Kind = "done" // all runs have ended
	Broken Kind = "broken"
)
