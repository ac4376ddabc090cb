//go:build linux

package native

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cgroup"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
)

// openGroups finds where the cgroups of this store's boxes can be made, and
// removes what boxes of a daemon that crashed left of theirs.
func (p *Provider) openGroups() {
	sum := sha256.Sum256([]byte(p.home))
	p.groups, p.noGroups = cgroup.Open("forkbox-" + hex.EncodeToString(sum[:4]))
	if p.noGroups != nil {
		p.log.Debug("boxes have no cgroups", "why", p.noGroups)
		p.groups = nil
		return
	}
	p.groups.SetIOPaths([]string{"/", p.home})
	if err := p.groups.Sweep(); err != nil {
		p.log.Warn("cannot remove cgroups of boxes that are gone", "error", err)
	}
}

// namespaces says whether boxes may make cgroup namespaces.
func (p *Provider) namespaces() bool { return p.groups != nil && p.groups.Namespaces() }

// Reserve limits all boxes together, so that the host keeps something.
func (p *Provider) Reserve(l forkbox.Limits) error {
	if p.groups == nil {
		return p.noGroups
	}
	return p.groups.Reserve(l)
}

// group makes the cgroups of a box that is about to start, with the limits it
// has. It returns nil where the host does not let us.
func (p *Provider) group(box forkbox.Box) (*cgroup.Group, error) {
	if p.groups == nil {
		return nil, nil
	}
	// A name of its own for each start: the groups of the last one may not be
	// gone yet.
	g, err := p.groups.New(box.ID + "-" + strconv.FormatInt(p.starts.Add(1), 36))
	if err != nil {
		return nil, forkbox.Wrap("make the box's cgroup", err)
	}
	if limits := grouped(box.Policy); len(limits) > 0 {
		if err := g.Set(limits); err != nil {
			return nil, errors.Join(err, g.Remove(context.Background()))
		}
	}
	return g, nil
}

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

// into makes the group of an exec and opens the way into it.
func (i *instance) into(id string, limits forkbox.Limits, args *boxinit.ExecArgs) (*cgroup.Entry, error) {
	if i.group == nil {
		return nil, nil
	}
	own := forkbox.Limits{}
	for _, r := range byGroup {
		if v, has := limits[r]; has {
			own[r] = v
		}
	}
	ready, err := i.groupFor(id, unswapped(own))
	if err != nil {
		return nil, forkbox.Wrap("make the exec's cgroup", err)
	}
	args.Enter, args.Group = len(entrance(ready.entry)), "/x/"+id
	i.mu.Lock()
	i.subs[id] = ready.sub
	i.mu.Unlock()
	return ready.entry, nil
}

// sub is the group of an exec, also of one that an earlier daemon started.
func (i *instance) sub(id string) (*cgroup.Sub, error) {
	i.mu.Lock()
	sub := i.subs[id]
	i.mu.Unlock()
	if sub != nil {
		return sub, nil
	}
	return i.group.FindExec(id)
}

// leaveAfter is how long the group of an exec that has ended stays: who waits
// for the exec goes on first, and as a rule with the box, which then goes with
// all its groups.
const leaveAfter = 100 * time.Millisecond

// leaveSoon removes the group of an exec that has ended, in a moment.
func (i *instance) leaveSoon(id string) {
	if i.group != nil {
		time.AfterFunc(leaveAfter, func() { i.leave(id) })
	}
}

// leave removes the group of an exec that has ended, unless it left something
// running, or the box ends: then it goes with the box.
func (i *instance) leave(id string) {
	select {
	case <-i.done:
		return
	default:
	}
	if i.group == nil {
		return
	}
	if sub, err := i.sub(id); err == nil {
		_ = sub.Remove()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.subs, id)
	delete(i.ownLimits, id)
}

// judge finds out what the kernel has to say about the end of an exec.
func (i *instance) judge(id string, exit *forkbox.Exit) {
	failed := exit.Code != 0 && (exit.Cause == forkbox.CauseExited || exit.Cause == forkbox.CauseSignalled)
	if i.group == nil {
		return
	}
	sub, err := i.sub(id)
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
		exit.Peak, exit.Limit = ev.Peak, i.limit(id, forkbox.Memory)
		exit.Why = killedText(ev.OOMKills, exit.Limit, exit.Peak)
		if failed {
			exit.Cause = forkbox.CauseOOM
		}
		if exit.Signal == "SIGKILL" && failed {
			exit.By = "kernel"
		}
	case ev.PidsHits > 0:
		exit.Limit, exit.Peak = i.limit(id, forkbox.Pids), ev.PidsPeak
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
func (i *instance) limit(id string, r forkbox.Resource) int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	v, has := i.limits[r]
	if own, ok := i.ownLimits[id][r]; ok && (!has || forkbox.Tighter(own, v)) {
		return max(0, own)
	}
	return max(0, v)
}

// remember keeps what limits an exec has of its own, for its obituary.
func (i *instance) remember(id string, limits forkbox.Limits) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(limits) > 0 {
		i.ownLimits[id] = limits
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
	limit := i.limit("", forkbox.Memory)
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
func (i *instance) disband() {
	i.mu.Lock()
	execs := slices.Collect(maps.Values(i.subs))
	if i.next != nil {
		i.next.entry.Close()
		execs = append(execs, i.next.sub)
	}
	i.next, i.disbanded = nil, true
	i.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), groupLimit)
	defer cancel()
	_ = i.group.Remove(ctx, execs...) // what stays is swept at the next start
}
