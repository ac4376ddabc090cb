package cgroup

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// Group is the groups of a box.
type Group struct {
	host *Host
	id   string
	box  node

	set   sync.Mutex // limits are set one after the other
	fresh bool       // none was set yet

	mu   sync.Mutex
	subs map[string]*Sub // the groups of execs; nil: not looked for yet
}

// ID is that of the box.
func (g *Group) ID() string { return g.id }

// execs is the group that all execs' groups are in.
func (g *Group) execs() node { return g.box.only(perExec...).child("x") }

// make makes the groups. Controllers are enabled for those below before there
// are any: then the kernel has nothing to convert.
func (g *Group) make() error {
	k := g.host.kernel
	err := g.box.make()
	if err != nil {
		return err
	}
	err = k.prepare(g.box, cpu, memory, pids, disk)
	if init := k.init(g.box); err == nil && init.rel != g.box.rel {
		if err = init.make(); err == nil {
			err = k.seal(g.host, init)
		}
	}
	if err == nil {
		err = g.execs().make()
	}
	if err == nil {
		err = k.prepare(g.execs(), memory, pids)
	}
	if err != nil {
		return errors.Join(err, g.box.unmake())
	}
	return nil
}

// What init may have beyond what the execs may.
const (
	roomMemory int64 = 64 << 20
	roomPids   int64 = 64
)

// divided are the limits of all execs and, a little above them, those of the
// whole box. Init must neither end because it can have no thread, nor be killed
// because a tmpfs is full of what belongs to no process. The second limit is
// for a box that takes its own init over.
func divided(l forkbox.Limits) (execs, box forkbox.Limits) {
	execs, box = forkbox.Limits{}, maps.Clone(l)
	for r, room := range map[forkbox.Resource]int64{forkbox.Memory: roomMemory, forkbox.Pids: roomPids, forkbox.Swap: 0} {
		v, has := l[r]
		if !has {
			continue
		}
		execs[r] = v
		if v != forkbox.Unlimited {
			box[r] = v + room
		}
	}
	return execs, box
}

// Set has limits hold for the box from now on, or changes nothing. What is not
// in l, or is [forkbox.Unlimited], is lifted. What [Host.Holds] does not call
// enforced is set as far as the kernel takes it, and is no error. Memory that
// is in use is got back from caches and to swap; if that is not enough the
// error is Busy.
func (g *Group) Set(l forkbox.Limits) error {
	g.set.Lock()
	defer g.set.Unlock()
	if err := l.Check(); err != nil {
		return err
	}
	e := &edit{fresh: g.fresh}
	g.fresh = false
	execs, box := divided(l)
	err := g.host.kernel.limit(e, g.host, g.execs(), execs)
	if err == nil {
		err = g.host.kernel.limit(e, g.host, g.box, box)
	}
	if err != nil {
		return forkbox.Wrap("set limits", errors.Join(err, e.takeBack()))
	}
	return nil
}

// Init is the way for the box's first process into its group.
func (g *Group) Init() (*Entry, error) {
	e, err := g.host.kernel.entry(g.host.kernel.init(g.box))
	return e, forkbox.Wrap("enter the box's cgroup", err)
}

// Execs lists the execs that have groups.
func (g *Group) Execs() []string {
	var ids []string
	for _, t := range g.execs().trees {
		names, _ := children(g.execs().in(t))
		ids = append(ids, names...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Pids lists all processes in the box, its first included.
func (g *Group) Pids() ([]int, error) { return g.host.members(g.box) }

// Idle says whether nothing runs of what was started in the box, nor waits to
// be reaped. Where the kernel does not count that it is never true.
func (g *Group) Idle() bool {
	n, ok := number(readIn(g.execs().dir(pids), "pids.current"))
	return ok && n == 0
}

// Used is what of it counts processors and memory: three files instead of a
// dozen, for who asks often.
func (g *Group) Used() (forkbox.Stats, error) {
	if !exists(g.box.main(), "cgroup.procs") {
		return forkbox.Stats{}, forkbox.Errorf(forkbox.NotFound, "count what the box uses", "it has no cgroup")
	}
	k := g.host.kernel
	return forkbox.Stats{Time: time.Now(), CPU: k.cpu(g.box), Memory: k.current(g.execs()), MemoryPeak: k.peak(g.execs())}, nil
}

// Stats is what the box uses now and has used so far, without its disk.
func (g *Group) Stats() (forkbox.Stats, error) {
	if !exists(g.box.main(), "cgroup.procs") {
		return forkbox.Stats{}, forkbox.Errorf(forkbox.NotFound, "count what the box uses", "it has no cgroup")
	}
	s := forkbox.Stats{Time: time.Now()}
	g.host.tallies.Lock()
	defer g.host.tallies.Unlock()
	g.host.kernel.stats(g, &s)
	s.Memory, s.MemoryPeak = g.host.kernel.current(g.execs()), g.host.kernel.peak(g.execs())
	s.Pids = readNumber(g.execs().dir(pids), "pids.current")
	s.PidsHits = g.pidsHits()
	return s, nil
}

// OOMKills is how many processes of the box were killed for want of memory, and
// the most memory that its execs used.
func (g *Group) OOMKills() (kills, peak int64) {
	g.host.tallies.Lock()
	defer g.host.tallies.Unlock()
	if kills = g.host.kernel.allKills(g); kills > 0 {
		peak = g.host.kernel.peak(g.execs())
	}
	return kills, peak
}

func nanoseconds(n int64) time.Duration  { return time.Duration(n) }
func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// Remove removes all groups of the box. Processes that are about to end are
// waited for; if others are left the error is Busy. It can be repeated. A
// caller that knows which execs have groups passes them, and saves the search.
func (g *Group) Remove(ctx context.Context, execs ...*Sub) error {
	const op = "remove the box's cgroup"
	ctx, cancel := context.WithTimeout(ctx, dying)
	defer cancel()
	if g.isEmpty(execs) {
		g.unmake(execs)
	}
	err := retry(ctx, func() (bool, error) {
		err := g.host.clear(g.box)
		return !isBusy(err), err
	})
	if isBusy(err) {
		left, _ := g.Pids()
		return forkbox.Errorf(forkbox.Busy, op, "there are %d processes in it: %w", len(left), err)
	}
	if err != nil {
		return forkbox.Wrap(op, err)
	}
	g.host.mu.Lock()
	defer g.host.mu.Unlock()
	delete(g.host.known, g.id)
	g.host.tidy()
	return nil
}

// known lists the groups that every box has and those of some execs, leaves
// first.
func (g *Group) known(execs []*Sub) (list []node) {
	for _, s := range execs {
		list = append(list, s.own)
	}
	return append(list, g.execs(), g.host.kernel.init(g.box), g.box)
}

// isEmpty says whether no process is in the groups that are known.
func (g *Group) isEmpty(execs []*Sub) bool {
	return !slices.ContainsFunc(g.known(execs), func(n node) bool {
		in, err := g.host.kernel.pids(n.main())
		return err != nil || len(in) > 0
	})
}

// unmake removes the groups that are known, without looking for more. What is
// left then has to be looked for.
func (g *Group) unmake(execs []*Sub) {
	for _, n := range g.known(execs) {
		for _, t := range n.trees {
			if rmdir(n.in(t)) != nil {
				return
			}
		}
	}
}

// dying is how long processes may take to end that were killed.
const dying = 2 * time.Second

// retry calls try until it says that it is done, or it is too late.
func retry(ctx context.Context, try func() (done bool, err error)) error {
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 20*time.Millisecond) {
		done, err := try()
		if done {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(wait):
		}
	}
}

// Entry is what a process needs to be born in a group or to enter it. The
// files are open, so that they can be given to a process that does not see
// this filesystem, and writing "0" to them moves who writes.
type Entry struct {
	// Dir is version 2's directory of the group, for a clone that is born in
	// it. It is nil in version 1.
	Dir *os.File
	// Tasks are version 1's files, one of each hierarchy: a thread that writes
	// "0" to each of them moves alone, and its children are born there.
	Tasks []*os.File
	// Procs is version 2's file, by which a whole process moves.
	Procs *os.File
}

// Enter moves the calling thread (version 1), which the caller has locked, or
// the whole process (version 2) into the group.
func (e *Entry) Enter() error {
	for _, f := range e.Tasks {
		if err := writeTo(int(f.Fd()), f.Name(), "0"); err != nil {
			return err
		}
	}
	if e.Procs == nil {
		return nil
	}
	return writeTo(int(e.Procs.Fd()), e.Procs.Name(), "0")
}

// Close closes the files.
func (e *Entry) Close() {
	for _, f := range append([]*os.File{e.Dir, e.Procs}, e.Tasks...) {
		if f != nil {
			f.Close()
		}
	}
}
