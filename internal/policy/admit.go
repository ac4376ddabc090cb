package policy

import (
	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/hostload"
)

// Committed is what is there, and what boxes that run may use at most by their
// limits.
type Committed struct {
	Running      int
	Paused       int // of those that run
	Memory, CPUs int64
	ByUser       map[int]UserCommitted // by uid
}

// UserCommitted is one user's part. Memory and CPUs are of boxes that run;
// Boxes counts all there are, and Disk the limits of all.
type UserCommitted struct {
	Boxes, Running     int
	Memory, CPUs, Disk int64
}

// Want is what somebody wants to do. New and Start can come together.
type Want struct {
	Owner  forkbox.Owner
	New    bool // make a box
	Start  bool // have a box begin to run, that Committed does not count yet
	Exec   bool // run something in a box that runs
	Policy forkbox.Policy
}

// Verdict says whether it may be done now. If not, Wait says that it may be
// possible later; else it never will be. Stuck says that no box which runs will
// make it possible, only a person. Why has the figures, Remedy what to do.
type Verdict struct {
	OK, Wait, Stuck bool
	Why, Remedy     string
}

// later and never are a verdict against, and fine is none.
func later(why string) Verdict { return Verdict{Wait: true, Why: why} }
func never(why string) Verdict { return Verdict{Why: why} }

var fine = Verdict{OK: true}

// Admit says whether the host has room for what somebody wants. Something that
// can never be is told at once, even where something else would have to be
// waited for first.
func (c Config) Admit(load hostload.Load, now Committed, want Want) Verdict {
	verdict := fine
	for _, check := range c.checks(want) {
		v := check(load, now, want)
		if !v.OK && !v.Wait {
			return v
		}
		if verdict.OK {
			verdict = v
		}
	}
	return verdict
}

type check func(hostload.Load, Committed, Want) Verdict

// checks are those that count for a want, what people can do most about first.
func (c Config) checks(want Want) []check {
	var all []check
	if want.New {
		all = append(all, c.userBoxes, c.userDisk, c.diskLeft)
	}
	if want.Start {
		all = append(all, c.userRunning, c.userMemory, c.userCPUs, c.running, c.memory, c.cpus, c.memoryLeft)
		if !want.New {
			all = append(all, c.diskLeft)
		}
	}
	if want.Start || want.Exec {
		all = append(all, c.pressure)
	}
	return all
}
