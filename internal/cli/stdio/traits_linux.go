package stdio

import (
	"syscall"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/nofile"
	"golang.org/x/sys/unix"
)

// CallerTraits are ours, which we have from the caller.
func CallerTraits() *forkbox.Traits {
	t := &forkbox.Traits{Nice: linux.Nice(), CPUs: linux.CPUs(), IO: linux.IOPriority(), Ignored: linux.Ignored()}
	t.Scheduler, t.Priority = linux.Scheduler()
	for resource := range unix.RLIMIT_RTPRIO + 1 {
		var limit unix.Rlimit
		if err := unix.Getrlimit(resource, &limit); err != nil {
			break // numbers without a gap, or none
		}
		t.Limits = append(t.Limits, [2]uint64{limit.Cur, limit.Max})
	}
	if soft, hard, ok := nofile.Limit(); ok && len(t.Limits) > unix.RLIMIT_NOFILE {
		t.Limits[unix.RLIMIT_NOFILE] = [2]uint64{soft, hard}
	}
	return t
}

// ignored says whether the caller had us ignore a signal.
func ignored(sig syscall.Signal) bool { return linux.Ignored()&(1<<(sig-1)) != 0 }
