package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
)

// v1 is version 1 of cgroups.
type v1 struct{}

func (v1) version() int { return 1 }

// init: version 1 lets processes be beside groups, so the first process needs
// none of its own.
func (v1) init(box node) node { return box }

// prepare: in version 1 all controllers of a tree are in all its groups.
func (v1) prepare(node, ...controller) error { return nil }

// seal: see Namespaces.
func (v1) seal(*Host, node) error { return nil }

func (v1) knob(r forkbox.Resource) (string, controller) {
	switch r {
	case forkbox.CPUs:
		return "cpu.cfs_quota_us", cpu
	case forkbox.Memory:
		return "memory.limit_in_bytes", memory
	case forkbox.Swap:
		return "memory.memsw.limit_in_bytes", memory
	case forkbox.Pids:
		return "pids.max", pids
	}
	for _, io := range ioResources {
		if io.resource == r {
			return io.file, disk
		}
	}
	return "", ""
}

// entry opens the files by which a thread enters a group in every tree: where
// the tree does not have the group, the nearest above it.
func (v1) entry(n node) (*Entry, error) {
	e := &Entry{}
	for _, t := range n.trees {
		f, err := openNearest(t, n.rel, "tasks")
		if err != nil {
			e.Close()
			return nil, err
		}
		e.Tasks = append(e.Tasks, f)
	}
	return e, nil
}

func openNearest(t tree, rel, name string) (*os.File, error) {
	for {
		file := filepath.Join(t.base, rel, name)
		fd, err := open(file, unix.O_WRONLY)
		if err == nil {
			return os.NewFile(uintptr(fd), file), nil
		}
		if rel = filepath.Dir(rel); rel == "." || !errors.Is(err, unix.ENOENT) {
			return nil, err
		}
	}
}

// pids are the processes whose first thread is in a group. The list of
// processes that version 1 gives has also those of which any thread is: the
// daemon, whose thread is there for a moment to start something, must not be
// taken for one of the box.
func (v1) pids(dir string) ([]int, error) {
	procs, err := read(filepath.Join(dir, "cgroup.procs"))
	if err != nil || strings.TrimSpace(procs) == "" {
		return nil, err
	}
	tasks, err := read(filepath.Join(dir, "tasks"))
	if err != nil {
		return nil, err
	}
	threads := map[int]bool{}
	for _, tid := range numbers(tasks) {
		threads[tid] = true
	}
	list := numbers(procs)
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(pid int) bool {
		// A first thread that has ended, while others go on, is in no list.
		return !threads[pid] && state(pid) != 'Z'
	}), nil
}

// stats: version 1 counts what happened to a group apart from what happened to
// those below it, but for what is used.
func (v v1) stats(g *Group, s *forkbox.Stats) {
	h, box := g.host, g.box
	s.CPU = v.cpu(box)
	s.Throttled = nanoseconds(sum(g.within(cpu), "cpu.stat", "throttled_time"))
	if h.swap.swaps() { // the kernel adds up a lot for this file
		s.Swap = readKey(box.dir(memory), "memory.stat", "total_swap")
	}
	s.OOMKills = v.allKills(g)
	bytes := readIn(box.dir(disk), "blkio.throttle.io_service_bytes_recursive")
	ops := readIn(box.dir(disk), "blkio.throttle.io_serviced_recursive")
	s.IO.ReadBytes, s.IO.WriteBytes = h.total(perDevice(bytes, "Read")), h.total(perDevice(bytes, "Write"))
	s.IO.ReadOps, s.IO.WriteOps = h.total(perDevice(ops, "Read")), h.total(perDevice(ops, "Write"))
}

// total leaves out devices that are on top of others.
func (h *Host) total(byDevice map[string]int64) (total int64) {
	for dev, v := range byDevice {
		if !h.carried(dev) {
			total += v
		}
	}
	return total
}

func (v1) oomKills(n node) int64 { return readKey(n.dir(memory), "memory.oom_control", "oom_kill") }

func (v1) allKills(g *Group) int64 {
	return sum(g.within(memory), "memory.oom_control", "oom_kill") + tally(g.box.dir(memory), tallyOOM)
}

func (v1) cpu(n node) time.Duration { return nanoseconds(readNumber(n.dir(cpuacct), "cpuacct.usage")) }

func (v1) current(n node) int64 { return readNumber(n.dir(memory), "memory.usage_in_bytes") }

func (v1) peak(n node) int64 { return readNumber(n.dir(memory), "memory.max_usage_in_bytes") }

func (v1) freeze(n node, still bool) error {
	word := map[bool]string{true: "FROZEN", false: "THAWED"}[still]
	dir := n.dir(freezer)
	if dir == "" {
		return noFreezer()
	}
	return write(filepath.Join(dir, "freezer.state"), word)
}

func (v1) frozen(n node) (bool, error) {
	dir := n.dir(freezer)
	if dir == "" {
		return false, nil
	}
	text, err := read(filepath.Join(dir, "freezer.state"))
	return strings.TrimSpace(text) == "FROZEN", err
}

func noFreezer() error {
	return forkbox.Errorf(forkbox.Unsupported, "freeze the box", "the cgroup controller freezer cannot be used on this host").
		Hint("run forkbox as root, or on a host with cgroup version 2")
}
