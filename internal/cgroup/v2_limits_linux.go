package cgroup

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
)

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
