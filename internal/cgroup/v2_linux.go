package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
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

// limit begins with what is most likely to be refused.
func (v v2) limit(e *edit, h *Host, n node, l forkbox.Limits) error {
	dir := n.main()
	if err := v.memory(e, dir, value(l, forkbox.Memory)); err != nil {
		return err
	}
	share := orMax(quotaOf(value(l, forkbox.CPUs))) + fmt.Sprintf(" %d", period)
	for file, text := range map[string]string{
		"memory.swap.max": orMax(value(l, forkbox.Swap)),
		"pids.max":        pidsMax(value(l, forkbox.Pids)),
		"cpu.max":         share,
	} {
		if err := e.setIfThere(dir, file, text); err != nil {
			return err
		}
	}
	return v.io(e, dir, h.devices(), l)
}

// memory: the kernel would kill where more is in use than a new limit allows.
// So first it is asked to get back what it can.
func (v2) memory(e *edit, dir string, bytes int64) error {
	high := filepath.Join(dir, "memory.high")
	if !exists(dir, "memory.max") {
		return nil
	}
	if bytes != forkbox.Unlimited && readNumber(dir, "memory.current") > bytes {
		err := reclaim(dir, high, bytes)
		defer func() { _ = write(high, "max") }()
		if err != nil {
			return err
		}
	}
	return e.set(filepath.Join(dir, "memory.max"), orMax(bytes))
}

func reclaim(dir, high string, bytes int64) error {
	var used int64
	err := insist(func() (bool, error) {
		if err := write(high, orMax(bytes)); err != nil {
			return true, err
		}
		used = readNumber(dir, "memory.current")
		return used <= bytes, nil
	})
	if err == nil && used > bytes {
		return tooLittle(forkbox.Memory, bytes, used)
	}
	return err
}

func (v2) io(e *edit, dir string, devices []string, l forkbox.Limits) error {
	if e.fresh && !limitsIO(l) || !exists(dir, "io.max") {
		return nil
	}
	file := filepath.Join(dir, "io.max")
	text, err := read(file)
	if err != nil {
		return err
	}
	has, want := ioStat(text), map[string]int64{}
	for _, io := range ioResources {
		if v := value(l, io.resource); v != forkbox.Unlimited {
			want[io.key] = v
		}
	}
	for _, dev := range devices {
		old := ioLine(dev, has[dev])
		if ioLine(dev, want) == old {
			continue
		}
		if err := write(file, ioLine(dev, want)); err != nil {
			return err
		}
		e.undo = append(e.undo, func() error { return write(file, old) })
	}
	return nil
}

func ioLine(dev string, values map[string]int64) string {
	var line strings.Builder
	line.WriteString(dev)
	for _, io := range ioResources {
		v, has := values[io.key]
		if !has {
			v = forkbox.Unlimited
		}
		fmt.Fprintf(&line, " %s=%s", io.key, orMax(v))
	}
	return line.String()
}
