package forkbox

import (
	"os"
	"time"
)

// Cause says why an exec ended.
type Cause string

const (
	CauseExited    Cause = "exited"     // by itself, with Code
	CauseSignalled Cause = "signalled"  // by Signal
	CauseTimeout   Cause = "timed-out"  // its own timeout ran out
	CauseStopped   Cause = "stopped"    // the box was stopped, or the exec killed, on request
	CauseOOM       Cause = "oom-killed" // it, or what it waited for, was killed at the memory limit
	CausePids      Cause = "pids-limit" // it failed where no more processes were allowed
	CauseDisk      Cause = "disk-limit" // it failed where no more disk was allowed
	CauseTTL       Cause = "ttl"        // the box's time was up
	CauseIdle      Cause = "idle"       // the box was stopped for being idle
	CauseShutdown  Cause = "host-shutdown"
	CauseLost      Cause = "lost"        // the box died under it: the exit is unknown
	CauseNotRun    Cause = "not-started" // it could not be started; Why says why
)

// Exit is how an exec ended. Code is what a shell would report: the exit
// status, 128+n for signal n, 124 for a timeout, 125 to 127 when it could not
// be started.
type Exit struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
	Cause  Cause  `json:"cause"`
	Why    string `json:"why,omitempty"`
	// By says who sent the signal, where that is known: "user NAME", "forkbox",
	// "kernel", "the box".
	By string `json:"by,omitempty"`
	// Forced says that TERM was not enough and KILL was needed.
	Forced bool `json:"forced,omitempty"`
	// Limit is what was met, where a limit was the cause, and Peak the most
	// that was used.
	Limit int64 `json:"limit,omitempty"`
	Peak  int64 `json:"peak,omitempty"`
}

// Output counts what an exec wrote. What is over the cap reached the caller
// but not the log.
type Output struct {
	Kept    int64 `json:"kept"`
	Dropped int64 `json:"dropped"`
	Cap     int64 `json:"cap"`
}

// Exec is a command run in a box. IDs count from 1 within a box.
type Exec struct {
	ID      string     `json:"id"`
	Box     string     `json:"box"`
	Argv    Strings    `json:"argv"`
	Dir     string     `json:"dir"`
	User    string     `json:"user,omitempty"`
	TTY     bool       `json:"tty,omitempty"`
	Started time.Time  `json:"started"`
	Ended   *time.Time `json:"ended,omitempty"`
	Exit    *Exit      `json:"exit,omitempty"` // nil while it runs
	Output  *Output    `json:"output,omitempty"`
	// Policy is what held for it: its own limits, and those of its box.
	Policy   Policy `json:"policy,omitempty"`
	Detached bool   `json:"detached,omitempty"` // no caller waited for it
	// Refused is how many places its network policy kept it from, or may have:
	// who tried cannot always be told.
	Refused int `json:"refused,omitempty"`
	// Note says why it may have failed, where that is something that a box does
	// not have. It is said once in a box.
	Note string `json:"note,omitempty"`
	// Label is how who started it finds it again: a race, after a crash.
	Label string `json:"label,omitempty"`
}

// ExecSpec is what to run. A zero Dir or nil Env means the box's own.
type ExecSpec struct {
	Argv Strings `json:"argv"`
	Dir  string  `json:"dir,omitempty"`
	// Here says that Dir is only where the caller stands: a box that is no
	// fork of this machine starts where its image says.
	Here    bool          `json:"here,omitempty"`
	Env     Strings       `json:"env,omitempty"`
	User    string        `json:"user,omitempty"` // name or uid, looked up in the box; empty: the owner
	TTY     bool          `json:"tty,omitempty"`
	Size    Size          `json:"size,omitzero"`
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	Umask   *int          `json:"umask,omitempty"`
	// Traits are those of the caller, which the command inherits.
	Traits *Traits `json:"traits,omitempty"`
	// Limits are those that hold for this exec, beside its box's.
	Limits Limits `json:"limits,omitempty"`
	// Open keeps stdin of a detached exec open for a client that attaches to it.
	Open bool `json:"open,omitempty"`
}

// Traits are what a process inherits beside its files, directory and environment:
// what env or nice pass on without a thought. Numbers are the kernel's.
type Traits struct {
	Nice      int         `json:"nice,omitempty"`
	CPUs      []uint64    `json:"cpus,omitempty"`        // that it may run on, as bits
	IO        int         `json:"io,omitempty"`          // its priority; 0 follows from the niceness
	Scheduler int         `json:"scheduler,omitempty"`   // 0 is the usual one
	Priority  int         `json:"rt_priority,omitempty"` // of a real-time scheduler
	Ignored   uint64      `json:"ignored,omitempty"`     // signals, as bits: the lowest is 1
	Limits    [][2]uint64 `json:"rlimits,omitempty"`     // soft and hard, by number
}

// Size is a terminal's.
type Size struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// Stdio is what an exec reads and writes. A nil file is /dev/null. With a TTY
// the exec has a terminal of its own in the box; In and Out are relayed to it
// and Err is not used. Extra files keep their number: a shell passes the pipes
// of <(…) and >(…) that way.
type Stdio struct {
	In, Out, Err *os.File
	Extra        map[int]*os.File
	// Last says, of who attaches to an exec, that the end of In is the end of
	// what the exec reads. Without it another may come and go on.
	Last bool
	// Stream, instead of files, has the exec read and written by
	// [Streaming.Stream].
	Stream *StreamSpec
}

// StreamSpec is how an exec is read and written whose caller has no files to hand
// over. What it writes is kept until the caller has acknowledged it, and no more
// of it than a window: then the exec waits, as it would for a full pipe.
type StreamSpec struct {
	// Key is what a caller who lost its connection takes the stream up with.
	Key string `json:"key"`
	// Stdin says that the caller writes to it; otherwise its stdin is empty.
	Stdin bool `json:"stdin,omitempty"`
	// Merge has stdout and stderr be one, in the order of what is written.
	Merge bool `json:"merge,omitempty"`
	// Grace is how long a caller may take to come back. Then Kill ends the exec;
	// without it the exec goes on, and what it writes is only kept in its log.
	Grace time.Duration `json:"grace,omitempty"`
	Kill  bool          `json:"kill,omitempty"`
}

// StreamAt is how far a caller and an exec are, in bytes since the exec began.
type StreamAt struct {
	Stdin  int64 `json:"stdin"`
	Stdout int64 `json:"stdout"`
	Stderr int64 `json:"stderr"`
}

// StreamJoin is a caller who takes up a stream, or joins an exec that runs in the
// background.
type StreamJoin struct {
	Key string `json:"key,omitempty"`
	// Seen is what the caller has of the output; nil is everything until now.
	Seen  *StreamAt     `json:"seen,omitempty"`
	Grace time.Duration `json:"grace,omitempty"` // of one who joins
}

// MaxExtra is how many extra files an exec may have, and MaxFD the highest
// number of one.
const (
	MaxExtra = 32
	MaxFD    = 255
)

// Close closes them all.
func (s Stdio) Close() {
	for _, f := range []*os.File{s.In, s.Out, s.Err} {
		if f != nil {
			f.Close()
		}
	}
	for _, f := range s.Extra {
		f.Close()
	}
}

// Process is one process in a box, as `forkbox ps` shows it.
type Process struct {
	PID     int       `json:"pid"` // in the box
	PPID    int       `json:"ppid"`
	UID     int       `json:"uid"`
	State   string    `json:"state"`
	Command []string  `json:"command"`
	Started time.Time `json:"started"`
}

// LogRecord is a piece of an exec's output.
type LogRecord struct {
	Stream string    `json:"stream"` // stdout, stderr
	Time   time.Time `json:"time"`
	Data   []byte    `json:"data"`
}

// Grace is how long processes get between TERM and KILL. Zero is KILL at once.
type Grace = time.Duration
