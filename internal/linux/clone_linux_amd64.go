package linux

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cloneChild shares the memory with the child until it executes its program.
// Copying it, even on write, would cost both of them a page fault for every
// page that the daemon touches meanwhile. Unlike with vfork the parent goes on
// at once: a mount that hangs on a dead network filesystem hangs one box.
//
//go:norace
//go:nosplit
func cloneChild(flags uintptr, pidfd *int32, status uintptr, p *player) (uintptr, syscall.Errno) {
	top := uintptr(unsafe.Pointer(&p.stack[0])) + childStack
	r := cloneVM(flags|unix.CLONE_VM, top&^15, uintptr(unsafe.Pointer(pidfd)), p, status)
	if r > ^uintptr(4095) {
		return 0, syscall.Errno(-r)
	}
	return r, 0
}

var _ = playAndExit // cloneVM calls it

// cloneVM makes a child with the parent's memory and a stack of its own, on
// which it calls playAndExit. It returns only in the parent.
//
//go:noescape
func cloneVM(flags, stack, pidfd uintptr, p *player, status uintptr) uintptr
