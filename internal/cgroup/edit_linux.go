package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
)

// edit is a number of changes to a group, all of which are made or none.
type edit struct {
	fresh bool // the group has no limits yet: there is nothing to lift
	undo  []func() error
}

// set gives a file a value, if it does not have it yet.
func (e *edit) set(file, value string) error {
	if e.fresh && (value == "-1" || strings.HasPrefix(value, "max")) {
		return nil
	}
	old, err := read(file)
	if err != nil || sameValue(old, value) {
		return err
	}
	if err := write(file, value); err != nil {
		return err
	}
	e.undo = append(e.undo, func() error { return write(file, strings.TrimSpace(old)) })
	return nil
}

// setIfThere is for files that not every kernel or every group has. Whether
// the limit holds without it is what [Host.Holds] says.
func (e *edit) setIfThere(dir, file, value string) error {
	if dir == "" || !exists(dir, file) {
		return nil
	}
	return e.set(filepath.Join(dir, file), value)
}

// takeBack undoes all changes, the last first.
func (e *edit) takeBack() error {
	var errs []error
	for i := len(e.undo) - 1; i >= 0; i-- {
		errs = append(errs, e.undo[i]())
	}
	return errors.Join(errs...)
}

func sameValue(a, b string) bool {
	x, ok1 := number(a)
	y, ok2 := number(b)
	return ok1 && ok2 && x == y || strings.TrimSpace(a) == strings.TrimSpace(b)
}

// value is the limit of a resource, [forkbox.Unlimited] if nothing was said.
func value(l forkbox.Limits, r forkbox.Resource) int64 {
	if v, said := l[r]; said {
		return v
	}
	return forkbox.Unlimited
}

// ioResources are the limits per device, with their names in version 2's
// io.max and version 1's files.
var ioResources = []struct {
	resource forkbox.Resource
	key      string
	file     string
}{
	{forkbox.ReadBytes, "rbps", "blkio.throttle.read_bps_device"},
	{forkbox.WriteBytes, "wbps", "blkio.throttle.write_bps_device"},
	{forkbox.ReadOps, "riops", "blkio.throttle.read_iops_device"},
	{forkbox.WriteOps, "wiops", "blkio.throttle.write_iops_device"},
}

func limitsIO(l forkbox.Limits) bool {
	for _, io := range ioResources {
		if value(l, io.resource) != forkbox.Unlimited {
			return true
		}
	}
	return false
}

func (h *Host) devices() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.disks.devices
}

// insist has the kernel try several times to get memory back. It gives up
// early where pages were used a moment ago or are on their way to the disk,
// and when a signal comes; and Go's scheduler sends signals.
func insist(try func() (done bool, err error)) error {
	for wait := 5 * time.Millisecond; ; wait *= 2 {
		done, err := try()
		if done || wait > 400*time.Millisecond {
			return err
		}
		time.Sleep(wait)
	}
}

// tooLittle is the error for a limit that is below what is in use.
func tooLittle(r forkbox.Resource, want, used int64) error {
	return forkbox.Errorf(forkbox.Busy, "set the limit "+string(r), "%s is in use, which is more than %s, and the kernel cannot get it back",
		forkbox.FormatLimit(r, used), forkbox.FormatLimit(r, want)).
		Hint("end what uses it, or set a limit above %s; the limit is as it was", forkbox.FormatLimit(r, used))
}

func isBusy(err error) bool { return errors.Is(err, unix.EBUSY) }

func isGone(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ESRCH)
}

// pidsMax is a limit as the kernel takes it: from as many as there can be at all
// on, there is none.
func pidsMax(n int64) string {
	const most = 1 << 22
	if n >= most {
		n = forkbox.Unlimited
	}
	return orMax(n)
}

// swapTable knows whether the host has anything to swap to. It is asked several
// times for every box, and reads the kernel's table once in a while.
type swapTable struct {
	mu   sync.Mutex
	when time.Time
	any  bool
}

// swapAge is how old an answer may be.
const swapAge = time.Second

// hostSwaps reads the table.
func hostSwaps() bool {
	text, err := read("/proc/swaps")
	return err != nil || strings.Count(strings.TrimSpace(text), "\n") > 0
}

func (t *swapTable) swaps() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.when) > swapAge {
		t.when, t.any = now, hostSwaps()
	}
	return t.any
}
