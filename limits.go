package forkbox

import (
	"maps"
	"slices"
)

// Unlimited is the value of a limit that is not wanted.
const Unlimited int64 = -1

// Limits are values by resource. What is not in it was not said.
type Limits map[Resource]int64

// Named lists what is limited, in the order of [Resources].
func (l Limits) Named() []Resource {
	return slices.DeleteFunc(slices.Clone(Resources), func(r Resource) bool { _, has := l[r]; return !has })
}

// Tighter says whether a allows less than b.
func Tighter(a, b int64) bool {
	if a == Unlimited || b == Unlimited {
		return a != Unlimited
	}
	return a < b
}

// How says what holds a limit.
type How string

const (
	Enforced    How = "enforced"     // by the kernel, or by forkbox where only time is counted
	Watched     How = "watched"      // forkbox looks now and then, and acts when it is passed
	NotEnforced How = "not-enforced" // not at all on this host
)

// Holding is how a host holds a limit, and why not better.
type Holding struct {
	How  How    `json:"how"`
	Why  string `json:"why,omitempty"`
	Hint string `json:"hint,omitempty"` // what would have it enforced
}

// Rule is a limit that holds for a box or an exec.
type Rule struct {
	Value int64 `json:"value"`
	// From says who set it: "host", "user", "project FILE", "box", "exec",
	// "default".
	From string `json:"from"`
	How  How    `json:"how"`
	Why  string `json:"why,omitempty"` // why it is not enforced
}

// Policy is the rules that hold.
type Policy map[Resource]Rule

// Limits are the policy's values.
func (p Policy) Limits() Limits {
	l := Limits{}
	for r, rule := range p {
		l[r] = rule.Value
	}
	return l
}

// Of is the value of a rule, where there is one that limits.
func (p Policy) Of(r Resource) (int64, bool) {
	rule, has := p[r]
	return rule.Value, has && rule.Value != Unlimited
}

// Clone is a copy.
func (p Policy) Clone() Policy { return maps.Clone(p) }

// Priority decides who comes first where the host is full.
type Priority string

const (
	LowPriority    Priority = "low"
	NormalPriority Priority = "normal" // also if nothing is said
	HighPriority   Priority = "high"
)

// Wish is what limits a caller asks for.
type Wish struct {
	// Limits were said for this box or exec.
	Limits Limits `json:"limits,omitempty"`
	// Project are those of the project's file ProjectFile.
	Project     Limits `json:"project,omitempty"`
	ProjectFile string `json:"project_file,omitempty"`
	// BestEffort accepts limits that this host cannot enforce.
	BestEffort bool     `json:"best_effort,omitempty"`
	Priority   Priority `json:"priority,omitempty"`
	// Wait is in nanoseconds how long to wait for a place where the host is
	// full; the daemon's own patience if nil.
	Wait *int64 `json:"wait_ns,omitempty"`
	// Ticket is a random word by which who asks finds their place in the queue.
	Ticket string `json:"ticket,omitempty"`
}
