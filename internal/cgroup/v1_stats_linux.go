package cgroup

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

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
