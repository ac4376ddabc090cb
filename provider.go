package forkbox

import (
	"context"
	"net"
	"os"
)

// Provider is an isolation technology: it turns a box at rest into an
// [Instance] that runs commands. It keeps no record of its own; whatever it
// needs to find an instance again after a restart, it finds from the box's id.
//
// Fail closed: a provider that cannot give what the box asks for (a network
// mode, a hidden path) returns an Unsupported error with a hint. It never
// starts something weaker.
type Provider interface {
	Name() string

	// Prepare makes the storage of a new box. It starts nothing.
	Prepare(ctx context.Context, box Box) error

	// Start makes the box's mounts and namespaces and starts its init.
	// When it fails nothing is left behind, and the box's data is untouched.
	Start(ctx context.Context, box Box) (Instance, error)

	// Attach finds the instance that an earlier process of this program
	// started and that still runs. When there is none it clears what that
	// instance may have left and returns a NotFound error.
	Attach(ctx context.Context, box Box) (Instance, error)

	// Remove deletes the storage of a box that does not run. It can be
	// repeated: removing what is gone succeeds.
	Remove(ctx context.Context, box Box) error

	// Changes calls yield for every change of the box, in path order. Its
	// cost depends on what changed, not on the base.
	Changes(ctx context.Context, box Box, yield func(Change, Sides) error) error

	// Checks tries what this provider needs on this host, for real.
	Checks(ctx context.Context) []Check
}

// Instance is a running box.
type Instance interface {
	// Exec starts a command. The instance owns stdio and log from here on,
	// also when it fails. The exec's exit arrives through the events handler
	// given to Watch.
	Exec(ctx context.Context, id string, spec ExecSpec, owner Owner, stdio Stdio, log *os.File, logCap int64) error

	// Watch delivers exits, first those that happened before Watch was
	// called, until the instance ends. It is called once, right after Start
	// or Attach. running lists the execs that are still running.
	Watch(exited func(execID string, exit Exit, out Output)) (running []string, err error)

	Signal(ctx context.Context, execID string, signal int) error
	// Kill ends an exec with everything it started: TERM, a grace, KILL.
	Kill(ctx context.Context, execID string, grace Grace) error
	Resize(ctx context.Context, execID string, size Size) error
	Processes(ctx context.Context) ([]Process, error)

	// Root opens the box's root directory as its processes see it. What is
	// written below it is a change of the box like any other.
	Root() (*os.File, error)

	// Stop ends every process in the box and waits until its mounts and
	// namespaces are gone.
	Stop(ctx context.Context, grace Grace) error

	// Done is closed when the instance has ended, for whatever reason.
	Done() <-chan struct{}
}

// Governor is a provider that limits what boxes use.
type Governor interface {
	// Holds says how each resource that can be limited is on this host. It is
	// asked often, and answers from what it found out at its start.
	Holds() map[Resource]Holding

	// Limit has the policy of a box hold. running is its instance, nil when it
	// is at rest. Start does the same for what it starts.
	Limit(ctx context.Context, box Box, running Instance) error

	// Used is the disk that what a box wrote takes: bytes and files. It may
	// have to look at every file where the host does not count.
	Used(ctx context.Context, box Box) (bytes, inodes int64, err error)
}

// Governed is an instance of a Governor.
type Governed interface {
	// Pause has all processes but init stand still, and Resume go on. Both can
	// be repeated.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error

	// Stats is what the box uses now, without the disk.
	Stats(ctx context.Context) (Stats, error)

	// Attach relays an exec that was started detached: what it writes from now
	// on goes to stdio.Out, and what is read from stdio.In goes to it, if it
	// was started with an open stdin or a terminal. The instance owns stdio.
	Attach(ctx context.Context, execID string, stdio Stdio) error

	// Suspend stops an exec that has a terminal as the key ctrl-Z would, and
	// says whether it did: the key may mean something else to what runs there.
	// The signal CONT has it go on.
	Suspend(ctx context.Context, execID string) (stopped bool, err error)
}

// Filed is an instance whose files can be read and written from outside: by a
// process in the box, with the box's view of them.
type Filed interface {
	// Files connects to that process, which has the owner's rights, and starts it
	// if it does not run. One request is made on a connection, in the protocol of
	// internal/boxfiles. What answers may be a hostile process of the box.
	Files(ctx context.Context, owner Owner) (net.Conn, error)
}

// Streaming is an instance whose execs can be read and written over a link that
// may be lost: what an exec wrote lies with the exec until its reader has
// acknowledged it.
type Streaming interface {
	// Stream gives an exec that was started with [Stdio.Stream], or detached, a
	// reader at the other end of link, which the instance owns. The frames are
	// those of internal/execstream. It returns where the output begins that it
	// sends: what the reader has not seen before that is in the log. NotFound is
	// an exec that does not run or whose stream has ended, Busy one that has
	// another reader.
	Stream(ctx context.Context, execID string, join StreamJoin, link *os.File) (StreamAt, error)
}
