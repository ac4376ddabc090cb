//go:build linux && !amd64

package linux

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cloneChild copies the memory on write: for this architecture there is no code
// that starts the child on a stack of its own.
//
//go:norace
//go:nosplit
func cloneChild(flags uintptr, pidfd *int32, status uintptr, p *player) (uintptr, syscall.Errno) {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, flags, 0, uintptr(unsafe.Pointer(pidfd)), 0, 0, 0)
	if errno == 0 && pid == 0 {
		playAndExit(p, status)
	}
	return pid, errno
}
