package policy

import (
	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/hostload"
)

// What admission is decided by, and how.
type (
	Committed     = forkbox.Committed
	UserCommitted = forkbox.UserCommitted
	Want          = forkbox.Want
	Verdict       = forkbox.Verdict
)

// later and never are a verdict against, and fine is none.
func later(why string) Verdict { return Verdict{Wait: true, Why: why} }
func never(why string) Verdict { return Verdict{Why: why} }

var fine = Verdict{OK: true}

// Admit says whether the host has room for what is wanted. Something that can
// never be is told at once, even where something else would have to be waited
// for first.
func (c Config) Admit(load hostload.Load, now Committed, want Want) Verdict {
	verdict := fine
	checks := c.checks(want)
	if c.Above != nil {
		checks = append(checks, c.Above.checks(want)...)
	}
	for _, check := range checks {
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
