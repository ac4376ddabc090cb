package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Host is where this process makes groups.
type Host struct {
	name   string
	kernel kernel
	trees  []tree
	files  map[string]bool       // which of the kernel's files a group has
	why    map[controller]string // why a controller cannot be used
	leaf   string                // version 2: the group that this process moved to, out of the way

	mu    sync.Mutex
	known map[string]bool // boxes that are in use, whether or not they have a process yet
	all   forkbox.Limits  // of all boxes together
	disks disks
	held  map[forkbox.Resource]forkbox.Holding // what Holds found out
	// heldSwaps is whether the host had swap then.
	heldSwaps bool
	inner     map[string]bool // by device: whether what it carries is counted again elsewhere

	swap swapTable

	tallies sync.Mutex // held while what an exec that ends has met is added to its box's
}

// kernel is what differs between the versions of cgroups.
type kernel interface {
	version() int
	// knob is the file that holds a limit, and its controller.
	knob(forkbox.Resource) (string, controller)
	// prepare has a group count for its children what some controllers do.
	prepare(n node, cs ...controller) error
	// seal has no group be made below one that processes of a box are in.
	seal(h *Host, n node) error
	// limit has limits hold for a group.
	limit(e *edit, h *Host, n node, l forkbox.Limits) error
	// stats fills in what a box uses, but for what only its execs are asked for.
	stats(g *Group, s *forkbox.Stats)
	// oomKills counts those of one group, and in version 2 of those below it.
	oomKills(n node) int64
	// allKills counts also those of a box's execs that are no more.
	allKills(g *Group) int64
	cpu(n node) time.Duration
	current(n node) int64
	peak(n node) int64
	freeze(n node, still bool) error
	frozen(n node) (bool, error)
	kill(g *Group, n node) error
	entry(n node) (*Entry, error)
	// init is the group that a box's first process is in.
	init(box node) node
	// pids lists the processes that are in one directory.
	pids(dir string) ([]int, error)
}

// Version is that of the cgroups that limits are held by: 1 or 2.
func (h *Host) Version() int { return h.kernel.version() }

// Place says where the groups are, for people.
func (h *Host) Place() string {
	var places []string
	for _, t := range h.trees {
		places = append(places, t.base)
	}
	return strings.Join(places, ", ")
}

func (h *Host) root() node { return node{trees: h.trees} }

// Reserve limits what all boxes may use together. It may be called again.
func (h *Host) Reserve(l forkbox.Limits) error {
	h.mu.Lock()
	err := h.ready()
	h.mu.Unlock()
	if err != nil {
		return forkbox.Wrap("limit all boxes together", err)
	}
	return h.apply(h.root(), l, false)
}

// apply has limits hold for a group, or changes nothing.
func (h *Host) apply(n node, l forkbox.Limits, fresh bool) error {
	if err := l.Check(); err != nil {
		return err
	}
	e := &edit{fresh: fresh}
	if err := h.kernel.limit(e, h, n, l); err != nil {
		return forkbox.Wrap("set limits", errors.Join(err, e.takeBack()))
	}
	return nil
}

// ready makes the group that all boxes' groups are in, if it is not there.
func (h *Host) ready() error {
	for _, t := range h.trees {
		if err := unix.Mkdir(t.base, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			return &os.PathError{Op: "make the group", Path: t.base, Err: err}
		}
	}
	if err := h.kernel.prepare(h.root(), cpu, memory, pids, disk); err != nil || h.all == nil {
		return err
	}
	return h.apply(h.root(), h.all, false)
}

// tidy removes the group that all boxes' groups are in when there is no box:
// whatever ends a daemon, nothing is left of it then. The caller has the lock.
func (h *Host) tidy() {
	if len(h.known) > 0 {
		return
	}
	for _, t := range h.trees {
		_ = rmdir(t.base) // one that an earlier daemon's box is in stays
	}
}

// New makes the groups of a box. Groups of that id that an earlier box left
// behind are replaced, unless there are processes in them.
func (h *Host) New(id string) (*Group, error) {
	const op = "make the box's cgroup"
	if !validID(id) {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "%q cannot be the name of a group", id)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known[id] {
		return nil, forkbox.Errorf(forkbox.Exists, op, "the box %s has one", id)
	}
	g := h.group(id, h.trees)
	g.subs = map[string]*Sub{}
	err := g.make()
	if errors.Is(err, unix.ENOENT) { // the first box
		if err = h.ready(); err == nil {
			err = g.make()
		}
	}
	if errors.Is(err, unix.EEXIST) {
		if h.clear(g.box) != nil {
			return nil, forkbox.Errorf(forkbox.Exists, op, "there are processes in the group %s", g.box.main())
		}
		err = g.make()
	}
	if err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	h.known[id] = true
	g.fresh = true
	return g, nil
}

func (h *Host) group(id string, trees []tree) *Group {
	return &Group{host: h, id: id, box: node{trees: trees, rel: id}}
}

// Find is the group of the box whose first process this is, also one that an
// earlier daemon of the same name made, wherever that had its groups.
func (h *Host) Find(pid int) (*Group, error) {
	const op = "find the box's cgroup"
	text, err := read("/proc/" + itoa(pid) + "/cgroup")
	if err != nil {
		return nil, forkbox.Errorf(forkbox.NotFound, op, "there is no process %d: %w", pid, err)
	}
	trees, id := h.treesOf(parseMembership(text))
	if len(trees) == 0 {
		return nil, forkbox.Errorf(forkbox.NotFound, op, "process %d is in no group of %s", pid, h.name)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known[id] = true
	return h.group(id, trees), nil
}

// treesOf is our trees as they are for a process: a daemon that started
// elsewhere may have had other places for its groups.
func (h *Host) treesOf(member []membership) (trees []tree, id string) {
	for _, t := range h.trees {
		group, ok := groupOf(member, t.word())
		base, box, ok2 := ours(group, h.name)
		at, ok3 := t.mount.below(base)
		if !ok || !ok2 || !ok3 || id != "" && box != id {
			continue
		}
		t.base, id = at, box
		trees = append(trees, t)
	}
	return trees, id
}

// word is how /proc/PID/cgroup names the tree.
func (t tree) word() string {
	for _, option := range t.mount.super {
		if t.mount.kind == "cgroup" && named(option) != "" {
			return option
		}
	}
	return ""
}

// Sweep removes the groups of boxes that are no more: those that have no
// process and that was not made or found since this process started. It looks
// everywhere where an earlier daemon of this name may have made them.
func (h *Host) Sweep() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, trees := range h.everywhere() {
		for _, id := range boxesIn(trees) {
			g := h.group(id, trees)
			if !h.known[id] {
				errs = append(errs, notBusy(h.clear(g.box)))
			}
		}
	}
	h.tidy()
	return forkbox.Wrap("remove the cgroups of boxes that are no more", errors.Join(errs...))
}

// everywhere lists the sets of trees that have groups of our name.
func (h *Host) everywhere() (sets [][]tree) {
	sets = append(sets, h.trees)
	for _, t := range h.trees {
		for _, dir := range called(h.name, t.mount.point) {
			if dir != t.base {
				other := t
				other.base = dir
				sets = append(sets, []tree{other})
			}
		}
	}
	return sets
}

// called finds the groups of a name. What cannot be read is not ours.
func called(name, dir string) (list []string) {
	names, _ := children(dir)
	for _, n := range names {
		if n == name {
			list = append(list, filepath.Join(dir, n))
			continue
		}
		list = append(list, called(name, filepath.Join(dir, n))...)
	}
	return list
}

func boxesIn(trees []tree) (ids []string) {
	for _, t := range trees {
		names, _ := children(t.base)
		ids = append(ids, names...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// notBusy forgives that a process came into a group meanwhile.
func notBusy(err error) error {
	if errors.Is(err, unix.EBUSY) {
		return nil
	}
	return err
}

// Close removes the group of all boxes, if none is left, and with it what was
// set for all boxes together.
func (h *Host) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, t := range h.trees {
		errs = append(errs, notBusy(rmdir(t.base)))
	}
	h.comeBack()
	return forkbox.Wrap("remove the cgroup of all boxes", errors.Join(errs...))
}
