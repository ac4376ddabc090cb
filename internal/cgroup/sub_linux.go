package cgroup

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
)

// Sub is the group of an exec.
type Sub struct {
	group *Group
	id    string
	own   node // in the trees in which it has a group
}

// Events is what happened to an exec.
type Events struct {
	OOMKills int64 // processes of it that were killed for want of memory, by any limit
	PidsHits int64 // how often it could not have another process
	Peak     int64 // the most memory that it used, 0 if this kernel does not count that
	PidsPeak int64 // the most processes and threads, likewise
}

// Exec makes the group of an exec, with limits of its own.
func (g *Group) Exec(id string, l forkbox.Limits) (*Sub, error) {
	const op = "make the exec's cgroup"
	if !validID(id) {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "%q cannot be the name of a group", id)
	}
	if err := g.deepen(l); err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	s := &Sub{group: g, id: id, own: g.box.only(controllersFor(l)...).child("x").child(id)}
	if err := s.own.make(); err != nil {
		if errors.Is(err, unix.EEXIST) {
			return nil, forkbox.Errorf(forkbox.Exists, op, "the exec %s has one", id)
		}
		return nil, forkbox.Wrap(op, err)
	}
	err := g.host.kernel.seal(g.host, s.own)
	if err == nil {
		err = g.host.apply(s.own, l, true)
	}
	if err != nil {
		return nil, errors.Join(err, s.own.unmake())
	}
	s.Begins()
	g.note(s)
	return s, nil
}

// controllersFor lists those in which an exec needs a group.
func controllersFor(l forkbox.Limits) []controller {
	list := slices.Clone(perExec)
	if value(l, forkbox.CPUs) != forkbox.Unlimited {
		list = append(list, cpu)
	}
	if limitsIO(l) {
		list = append(list, disk)
	}
	return list
}

// deepen makes what is above an exec's group in trees in which few execs have
// one.
func (g *Group) deepen(l forkbox.Limits) error {
	more := controllersFor(l)[len(perExec):]
	if len(more) == 0 {
		return nil
	}
	for _, t := range g.box.only(more...).trees {
		x := node{trees: []tree{t}, rel: g.box.rel}.child("x")
		if err := x.make(); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	return g.host.kernel.prepare(g.execs(), more...)
}

// FindExec is the group of an exec that was made earlier, also by an earlier
// daemon.
func (g *Group) FindExec(id string) (*Sub, error) {
	s := &Sub{group: g, id: id, own: g.box.child("x").child(id).present()}
	if !validID(id) || !s.own.some() {
		return nil, forkbox.Errorf(forkbox.NotFound, "find the exec's cgroup", "there is none for %q", id)
	}
	return s, nil
}

// Entry is the way into the group. In version 1, who enters while the box is
// frozen stands still with it.
func (s *Sub) Entry() (*Entry, error) {
	e, err := s.group.host.kernel.entry(s.group.box.child("x").child(s.id))
	return e, forkbox.Wrap("enter the exec's cgroup", err)
}

// EntryFromBox is the way in for who is in the box already: the trees in which
// the exec has no group of its own are left out.
func (s *Sub) EntryFromBox() (*Entry, error) {
	e, err := s.group.host.kernel.entry(s.own)
	return e, forkbox.Wrap("enter the exec's cgroup", err)
}

// Pids lists the processes in it.
func (s *Sub) Pids() ([]int, error) { return s.group.host.members(s.own) }

// Events says what has happened to it so far.
func (s *Sub) Events() (Events, error) {
	if !exists(s.own.main(), "cgroup.procs") {
		return Events{}, forkbox.Errorf(forkbox.NotFound, "see what happened to the exec", "it has no cgroup")
	}
	k := s.group.host.kernel
	return Events{
		OOMKills: k.oomKills(s.own),
		PidsHits: s.pidsHits(),
		Peak:     k.peak(s.own),
		PidsPeak: readNumber(s.own.dir(pids), "pids.peak"),
	}, nil
}

// Met says whether it has met a limit, so that there is more to ask for.
func (s *Sub) Met() bool { return s.group.host.kernel.oomKills(s.own) > 0 || s.pidsHits() > 0 }

// Remove removes the group, if it has no processes. What it has met stays
// counted for the box.
func (s *Sub) Remove() error {
	const op = "remove the exec's cgroup"
	h := s.group.host
	if left, err := h.members(s.own); err == nil && len(alive(left)) > 0 {
		return forkbox.Errorf(forkbox.Busy, op, "there are %d processes in it", len(left))
	}
	ctx, cancel := context.WithTimeout(context.Background(), dying)
	defer cancel()
	var keep func()
	err := retry(ctx, func() (bool, error) {
		h.tallies.Lock()
		defer h.tallies.Unlock()
		if keep == nil { // a second try may find only some of it
			keep = s.toKeep()
		}
		err := h.clear(s.own)
		if err == nil {
			keep()
		}
		return !isBusy(err), err
	})
	if isBusy(err) {
		return forkbox.Errorf(forkbox.Busy, op, "%w", err)
	}
	if err == nil {
		s.group.forget(s)
	}
	return forkbox.Wrap(op, err)
}

// note remembers the group of an exec, so that it need not be looked for among
// the many files that the kernel has in each group.
func (g *Group) note(s *Sub) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.subs != nil {
		g.subs[s.id] = s
	}
}

func (g *Group) forget(s *Sub) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.subs, s.id)
}

// execGroups are those of execs. Those of a box that an earlier daemon made are
// looked for once.
func (g *Group) execGroups() map[string]*Sub {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.subs == nil {
		g.subs = map[string]*Sub{}
		for _, id := range g.Execs() {
			if s, err := g.FindExec(id); err == nil {
				g.subs[id] = s
			}
		}
	}
	return maps.Clone(g.subs)
}

// within lists the directories, in the tree of a controller, of those groups of
// the box that processes can be in.
func (g *Group) within(c controller) (list []string) {
	list = append(list, g.box.dir(c))
	if init := g.host.kernel.init(g.box); init.rel != g.box.rel {
		list = append(list, init.dir(c))
	}
	for _, s := range g.execGroups() {
		list = append(list, s.own.dir(c))
	}
	return list
}

// What a limit of processes was met by is counted in one of two ways. Version
// 1, and version 2 until Linux 6.10, count it for the group of who wanted
// another process. Since 6.11 version 2 counts it for the group whose limit it
// was, and those above; then a box's limit is met by the execs that ran at the
// time, as far as can be told.

const (
	tallyOOM  = "oom-kills"     // of execs that are no more, kept with their box
	tallyHits = "pids-hits"     // likewise
	tallyThen = "pids-hits-was" // those of the box when an exec was made
)

// byLimit says whether hits are counted for whose limit it was.
func (h *Host) byLimit() bool { return h.kernel.version() == 2 && h.files["pids.events.local"] }

// pidsHits is how often anything in the box could not have another process.
func (g *Group) pidsHits() int64 {
	dir := g.box.dir(pids)
	if g.host.byLimit() {
		return readKey(dir, "pids.events", "max")
	}
	return sum(g.within(pids), "pids.events", "max") + tally(dir, tallyHits)
}

// Begins notes what an exec is not to be blamed for: what its box has met until
// now. A caller that makes a group ahead calls it once more when the exec
// begins.
func (s *Sub) Begins() {
	if !s.group.host.byLimit() {
		return
	}
	if was := s.boxHits(); was > 0 {
		setTally(s.own.dir(pids), tallyThen, was)
	}
}

func (s *Sub) boxHits() int64 {
	return readKey(s.group.execs().dir(pids), "pids.events.local", "max")
}

func (s *Sub) pidsHits() int64 {
	dir := s.own.dir(pids)
	if dir == "" {
		return 0
	}
	if s.group.host.byLimit() {
		return readKey(dir, "pids.events", "max") + s.boxHits() - tally(dir, tallyThen)
	}
	return readKey(dir, "pids.events", "max")
}

// toKeep reads what would be lost with an exec's group; what it returns adds it
// to what the box has met.
func (s *Sub) toKeep() (keep func()) {
	h, box := s.group.host, s.group.box
	var kills, hits int64
	if h.kernel.version() == 1 {
		kills = h.kernel.oomKills(s.own)
	}
	if !h.byLimit() {
		hits = s.pidsHits()
	}
	return func() {
		addTally(box.dir(memory), tallyOOM, kills)
		addTally(box.dir(pids), tallyHits, hits)
	}
}

func addTally(dir, name string, more int64) {
	if dir != "" && more > 0 {
		setTally(dir, name, tally(dir, name)+more)
	}
}
