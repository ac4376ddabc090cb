package cgroup

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/forkbox/forkbox"
)

// limit begins with what is most likely to be refused.
func (v v1) limit(e *edit, h *Host, n node, l forkbox.Limits) error {
	if dir := n.dir(memory); dir != "" && exists(dir, "memory.limit_in_bytes") {
		if err := v.memory(e, dir, l); err != nil {
			return err
		}
	}
	if dir := n.dir(cpu); dir != "" && exists(dir, "cpu.cfs_quota_us") {
		if err := v.cpus(e, dir, value(l, forkbox.CPUs)); err != nil {
			return err
		}
	}
	if err := e.setIfThere(n.dir(pids), "pids.max", pidsMax(value(l, forkbox.Pids))); err != nil {
		return err
	}
	return v.io(e, n.dir(disk), h.devices(), l)
}

// memory: version 1 limits memory, and memory and swap together, and refuses
// to have the second below the first at any moment.
func (v1) memory(e *edit, dir string, l forkbox.Limits) error {
	bytes, swap := value(l, forkbox.Memory), value(l, forkbox.Swap)
	if e.fresh && bytes == forkbox.Unlimited && swap == forkbox.Unlimited {
		return nil
	}
	both := forkbox.Unlimited
	switch {
	case swap == forkbox.Unlimited:
	case bytes != forkbox.Unlimited:
		both = max(bytes+swap, forkbox.Unlimited) // unlimited if that is too large a number
	case hostSwaps():
		return forkbox.Errorf(forkbox.Unsupported, "set the limit swap", "cgroup version 1 limits swap only together with memory").
			Hint("limit memory as well")
	}
	setMemory := func() error { return setBytes(e, dir, "memory.limit_in_bytes", "memory.usage_in_bytes", bytes) }
	if !exists(dir, "memory.memsw.limit_in_bytes") {
		return setMemory()
	}
	setBoth := func() error {
		return setBytes(e, dir, "memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes", both)
	}
	first, second := setMemory, setBoth
	if forkbox.Tighter(readNumber(dir, "memory.memsw.limit_in_bytes"), both) {
		first, second = setBoth, setMemory
	}
	if err := first(); err != nil {
		return err
	}
	return second()
}

// setBytes: the kernel itself tries to get back what is in use, and refuses if
// it cannot.
func setBytes(e *edit, dir, file, usage string, v int64) error {
	err := insist(func() (bool, error) {
		err := e.set(filepath.Join(dir, file), strconv.FormatInt(v, 10))
		return !isBusy(err), err
	})
	if isBusy(err) {
		return tooLittle(forkbox.Memory, v, readNumber(dir, usage))
	}
	return err
}

const period = 100_000 // microseconds, of which a group gets a share

// quotaOf is the share of each period for thousandths of processors. The
// kernel takes no less than a millisecond.
func quotaOf(milli int64) int64 {
	if milli == forkbox.Unlimited {
		return forkbox.Unlimited
	}
	return max(milli*period/1000, 1000)
}

// cpus: version 1 refuses a group that has more than one above it, although
// that could never get it. So it gets what the one above has; and when a group
// gets less, so do those below. They do not get it back with the group.
func (v1) cpus(e *edit, dir string, milli int64) error {
	quota := quotaOf(milli)
	if e.fresh && quota == forkbox.Unlimited {
		return nil
	}
	for up := filepath.Dir(dir); exists(up, "cpu.cfs_quota_us"); up = filepath.Dir(up) {
		if above := quotaIn(up); forkbox.Tighter(above, quota) && quota != forkbox.Unlimited {
			quota = above
		}
	}
	err := walk(dir, func(below string) error {
		if below != dir && quota != forkbox.Unlimited && quotaIn(below) > quota {
			return e.set(filepath.Join(below, "cpu.cfs_quota_us"), strconv.FormatInt(quota, 10))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.set(filepath.Join(dir, "cpu.cfs_quota_us"), strconv.FormatInt(quota, 10))
}

// quotaIn is what a group gets of our period; that of others may be longer.
func quotaIn(dir string) int64 {
	quota, every := readNumber(dir, "cpu.cfs_quota_us"), readNumber(dir, "cpu.cfs_period_us")
	if quota <= 0 || every <= 0 {
		return forkbox.Unlimited
	}
	return int64(float64(quota) / float64(every) * period)
}

func (v1) io(e *edit, dir string, devices []string, l forkbox.Limits) error {
	if e.fresh && !limitsIO(l) {
		return nil
	}
	for _, io := range ioResources {
		if dir == "" || !exists(dir, io.file) {
			continue
		}
		file := filepath.Join(dir, io.file)
		text, err := read(file)
		if err != nil {
			return err
		}
		old, want := perDevice(text, ""), max(value(l, io.resource), 0) // 0 is no limit
		for _, dev := range devices {
			if old[dev] == want {
				continue
			}
			if err := write(file, fmt.Sprintf("%s %d", dev, want)); err != nil {
				return err
			}
			e.undo = append(e.undo, func() error { return write(file, fmt.Sprintf("%s %d", dev, old[dev])) })
		}
	}
	return nil
}

func orMax(v int64) string {
	if v == forkbox.Unlimited {
		return "max"
	}
	return strconv.FormatInt(v, 10)
}
