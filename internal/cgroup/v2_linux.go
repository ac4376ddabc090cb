package cgroup

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// v2 is version 2 of cgroups.
type v2 struct{}

func (v2) version() int { return 2 }

func (v2) init(box node) node { return box.child("init") }

func (v2) knob(r forkbox.Resource) (string, controller) {
	switch r {
	case forkbox.CPUs:
		return "cpu.max", cpu
	case forkbox.Memory:
		return "memory.max", memory
	case forkbox.Swap:
		return "memory.swap.max", memory
	case forkbox.Pids:
		return "pids.max", pids
	}
	return "io.max", disk
}

func (v2) prepare(n node, cs ...controller) error {
	_, err := enable(n.main(), cs)
	return err
}

// maxBelow limits how many groups there may be below one.
const maxBelow = "cgroup.max.descendants"

// seal: a box that makes itself a cgroup namespace may make groups in it, as
// many as the kernel has room for, and turn them into ones that list no
// processes.
func (v2) seal(h *Host, n node) error {
	if !h.files[maxBelow] {
		return nil // then it may have no such namespace, see Namespaces
	}
	return write(filepath.Join(n.main(), maxBelow), "0")
}

func (v2) entry(n node) (*Entry, error) {
	dir, err := open(n.main(), unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	e := &Entry{Dir: os.NewFile(uintptr(dir), n.main())}
	file := filepath.Join(n.main(), "cgroup.procs")
	procs, err := open(file, unix.O_WRONLY)
	if err != nil {
		e.Close()
		return nil, err
	}
	e.Procs = os.NewFile(uintptr(procs), file)
	return e, nil
}

func (v2) pids(dir string) ([]int, error) {
	text, err := read(filepath.Join(dir, "cgroup.procs"))
	return numbers(text), err
}

// stats: in version 2 what happened to a group has happened to those above it,
// but for having to wait for a processor.
func (v v2) stats(g *Group, s *forkbox.Stats) {
	h, dir := g.host, g.box.main()
	s.CPU = v.cpu(g.box)
	s.Throttled = microseconds(sum(g.within(cpu), "cpu.stat", "throttled_usec"))
	s.Swap = readNumber(dir, "memory.swap.current")
	s.OOMKills = readKey(dir, "memory.events", "oom_kill")
	for dev, v := range ioStat(readIn(dir, "io.stat")) {
		if !h.carried(dev) {
			s.IO.ReadBytes += v["rbytes"]
			s.IO.WriteBytes += v["wbytes"]
			s.IO.ReadOps += v["rios"]
			s.IO.WriteOps += v["wios"]
		}
	}
	for _, name := range []string{"cpu", "memory", "io"} {
		if p, ok := pressure(readIn(dir, name+".pressure")); ok {
			if s.Pressure == nil {
				s.Pressure = map[string]forkbox.Pressure{}
			}
			s.Pressure[name] = p
		}
	}
}

func (v2) oomKills(n node) int64 { return readKey(n.main(), "memory.events", "oom_kill") }

func (v v2) allKills(g *Group) int64 { return v.oomKills(g.box) }

func (v2) cpu(n node) time.Duration { return microseconds(readKey(n.main(), "cpu.stat", "usage_usec")) }

func (v2) current(n node) int64 { return readNumber(n.main(), "memory.current") }

func (v2) peak(n node) int64 { return readNumber(n.main(), "memory.peak") }

func (v2) freeze(n node, still bool) error {
	word := map[bool]string{true: "1", false: "0"}[still]
	return write(filepath.Join(n.main(), "cgroup.freeze"), word)
}

func (v2) frozen(n node) (bool, error) {
	text, err := read(filepath.Join(n.main(), "cgroup.events"))
	return keyed(text, "frozen") == 1, err
}
