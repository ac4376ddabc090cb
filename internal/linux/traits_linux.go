package linux

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What this process has of who started it, as its own children would.

// CPUs are the processors that this thread may run on, as bits, without the words
// that are zero at the end.
func CPUs() []uint64 {
	mask := make([]uint64, 128)
	n, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, 0, uintptr(8*len(mask)), uintptr(unsafe.Pointer(&mask[0])))
	if errno != 0 {
		return nil
	}
	mask = mask[:n/8]
	for len(mask) > 0 && mask[len(mask)-1] == 0 {
		mask = mask[:len(mask)-1]
	}
	return mask
}

// Nice is the niceness of this process.
func Nice() int {
	n, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return 0
	}
	return 20 - n // as the kernel says it: it has no negative results
}

// IOPriority is that of this process; 0 where it has none of its own.
func IOPriority() int {
	const process, classShift = 1, 13
	n, _, errno := unix.RawSyscall(unix.SYS_IOPRIO_GET, process, 0, 0)
	if errno != 0 || n>>classShift == 0 {
		return 0
	}
	return int(n)
}

// Scheduler is how this process is scheduled.
func Scheduler() (policy, priority int) {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy == unix.SCHED_DEADLINE { // which no process can pass on
		return 0, 0
	}
	return int(attr.Policy), int(attr.Priority)
}

// Ignored are the signals that this process ignores, as bits.
//
// The runtime leaves those alone that it was started to ignore only where that has
// a meaning for a terminal: HUP, INT and the ones that stop. The others it has
// replaced before this package could see what they were.
func Ignored() (set uint64) {
	for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU} {
		var action [4]uint64
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&action)), 8, 0, 0)
		const ignore = 1
		if errno == 0 && action[0] == ignore {
			set |= 1 << (sig - 1)
		}
	}
	return set
}
