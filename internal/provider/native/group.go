//go:build linux

package native

import (
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cgroup"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
)

// grouped are the limits that a cgroup holds.
func grouped(policy forkbox.Policy) forkbox.Limits {
	l := forkbox.Limits{}
	for _, r := range byGroup {
		if rule, has := policy[r]; has && rule.How == forkbox.Enforced {
			l[r] = rule.Value
		}
	}
	return unswapped(l)
}

// onlyGrouped is what a policy says of them.
func onlyGrouped(policy forkbox.Policy) forkbox.Policy {
	only := forkbox.Policy{}
	for _, r := range byGroup {
		if rule, has := policy[r]; has {
			only[r] = rule
		}
	}
	return only
}

// unswapped has a limit of memory mean memory, and not that the rest goes to
// swap, unless the limits say how much may.
func unswapped(l forkbox.Limits) forkbox.Limits {
	_, said := l[forkbox.Swap]
	if v, has := l[forkbox.Memory]; has && v != forkbox.Unlimited && !said {
		l[forkbox.Swap] = 0
	}
	return l
}

var byGroup = forkbox.ResourcesHeldBy(forkbox.HeldByGroup)

// disowned has no user of the box own what init is given of a group.
func disowned(e *cgroup.Entry, err error) (*cgroup.Entry, error) {
	if err != nil || !linux.RealRoot() {
		return e, err
	}
	err = linux.Disown(entrance(e)...)
	if err == nil && e.Dir != nil {
		// A box with a cgroup namespace can mount the group that it is in, and
		// must not be the owner of what it finds there.
		err = linux.DisownAll(e.Dir)
	}
	if err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// entrance is the files by which a process enters a group.
func entrance(e *cgroup.Entry) []*os.File {
	if e.Procs != nil {
		return []*os.File{e.Procs}
	}
	return e.Tasks
}

// enclosure is the cgroups of a running box and of its execs: they hold the
// limits, and tell who met them.
type enclosure struct {
	group *cgroup.Group // nil where the host has none for us
	fresh bool          // made by this daemon, not found
	done  chan struct{} // closed when the box has ended
	runs  func(id string) bool
	ahead sync.Mutex // held while the group of an exec is made

	mu        sync.Mutex
	limits    forkbox.Limits            // the box's
	ownLimits map[string]forkbox.Limits // of execs that have some, by id
	subs      map[string]*cgroup.Sub    // the groups of execs, by id
	next      *execGroup                // made ahead
	disbanded bool                      // they are gone, or going
}

// enter makes the group of an exec and opens the way into it.
func (e *enclosure) enter(id string, limits forkbox.Limits, args *boxinit.ExecArgs) (*cgroup.Entry, error) {
	if e.group == nil {
		return nil, nil
	}
	own := forkbox.Limits{}
	for _, r := range byGroup {
		if v, has := limits[r]; has {
			own[r] = v
		}
	}
	ready, err := e.groupFor(id, unswapped(own))
	if err != nil {
		return nil, forkbox.Wrap("make the exec's cgroup", err)
	}
	args.Enter, args.Group = len(entrance(ready.entry)), "/x/"+id
	e.mu.Lock()
	e.subs[id] = ready.sub
	e.mu.Unlock()
	return ready.entry, nil
}

// sub is the group of an exec, also of one that an earlier daemon started.
func (e *enclosure) sub(id string) (*cgroup.Sub, error) {
	e.mu.Lock()
	sub := e.subs[id]
	e.mu.Unlock()
	if sub != nil {
		return sub, nil
	}
	return e.group.FindExec(id)
}

// leaveAfter is how long the group of an exec that has ended stays: who waits
// for the exec goes on first, and as a rule with the box, which then goes with
// all its groups.
const leaveAfter = 100 * time.Millisecond

// leaveSoon removes the group of an exec that has ended, in a moment.
func (e *enclosure) leaveSoon(id string) {
	if e.group != nil {
		time.AfterFunc(leaveAfter, func() { e.leave(id) })
	}
}

// leave removes the group of an exec that has ended, unless it left something
// running, or the box ends: then it goes with the box.
func (e *enclosure) leave(id string) {
	select {
	case <-e.done:
		return
	default:
	}
	if e.group == nil {
		return
	}
	if sub, err := e.sub(id); err == nil {
		_ = sub.Remove()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.subs, id)
	delete(e.ownLimits, id)
}

// judge finds out what the kernel has to say about the end of an exec.
func (e *enclosure) judge(id string, exit *forkbox.Exit) {
	failed := exit.Code != 0 && (exit.Cause == forkbox.CauseExited || exit.Cause == forkbox.CauseSignalled)
	if e.group == nil {
		return
	}
	sub, err := e.sub(id)
	if err != nil {
		return
	}
	if !sub.Met() {
		return
	}
	ev, err := sub.Events()
	if err != nil {
		return
	}
	switch {
	case ev.OOMKills > 0:
		exit.Peak, exit.Limit = ev.Peak, e.limit(id, forkbox.Memory)
		exit.Why = killedText(ev.OOMKills, exit.Limit, exit.Peak)
		if failed {
			exit.Cause = forkbox.CauseOOM
		}
		if exit.Signal == "SIGKILL" && failed {
			exit.By = "kernel"
		}
	case ev.PidsHits > 0:
		exit.Limit, exit.Peak = e.limit(id, forkbox.Pids), ev.PidsPeak
		exit.Why = "it met its limit of " + strconv.FormatInt(exit.Limit, 10) + " processes, " + times(ev.PidsHits)
		if failed {
			exit.Cause = forkbox.CausePids
		}
	}
}

func killedText(n, limit, peak int64) string {
	text := "the kernel killed " + strconv.FormatInt(n, 10) + " of its processes at the memory limit"
	if limit > 0 {
		text += " of " + forkbox.FormatLimit(forkbox.Memory, limit)
	}
	if peak > 0 {
		text += "; the most it used was " + strconv.FormatInt(peak>>20, 10) + "m"
	}
	return text
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return strconv.FormatInt(n, 10) + " times"
}

// limit is the tighter of an exec's own and its box's.
func (e *enclosure) limit(id string, r forkbox.Resource) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	v, has := e.limits[r]
	if own, ok := e.ownLimits[id][r]; ok && (!has || forkbox.Tighter(own, v)) {
		return max(0, own)
	}
	return max(0, v)
}

// remember keeps what limits an exec has of its own, for its obituary.
func (e *enclosure) remember(id string, limits forkbox.Limits) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(limits) > 0 {
		e.ownLimits[id] = limits
	}
}

// lastWords notes how a box ended that the kernel killed for its memory.
func (i *instance) lastWords() {
	if i.group == nil {
		return
	}
	kills, peak := i.group.OOMKills()
	if kills == 0 {
		return
	}
	limit := i.enclosure.limit("", forkbox.Memory)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.words = &forkbox.Exit{Code: 128 + 9, Signal: "SIGKILL", Cause: forkbox.CauseOOM, By: "kernel",
		Limit: limit, Peak: peak, Why: killedText(kills, limit, peak)}
}

// LastWords is how the box ended, where the kernel ended it; nil where that is
// not known.
func (i *instance) LastWords() *forkbox.Exit {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.words
}

// groupLimit is how long the groups of a box that has ended may take to go:
// what held its memory is still being torn down.
const groupLimit = 5 * time.Second

// disband removes the groups of a box that has ended.
func (e *enclosure) disband() {
	e.mu.Lock()
	execs := slices.Collect(maps.Values(e.subs))
	if e.next != nil {
		e.next.entry.Close()
		execs = append(execs, e.next.sub)
	}
	e.next, e.disbanded = nil, true
	e.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), groupLimit)
	defer cancel()
	_ = e.group.Remove(ctx, execs...) // what stays is swept at the next start
}
