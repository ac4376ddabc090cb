package linux

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The runtime's own hooks around a fork: they block signals in the parent and
// reset handlers in the child. The runtime keeps these names for programs
// that, like this one, must fork without os/exec.

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// fork clones this process copy-on-write. Sharing the memory (vfork) would be
// a little cheaper, but then the parent's thread waits for the child, and a
// mount that hangs on a dead network filesystem would hang the daemon.
//
//go:norace
//go:noinline
func fork(flags uintptr, pidfd *int32, status uintptr, s *Script) (pid uintptr, errno syscall.Errno) {
	beforeFork()
	pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, flags, 0, uintptr(unsafe.Pointer(pidfd)), 0, 0, 0)
	if errno != 0 || pid != 0 {
		afterFork()
		return pid, errno
	}
	afterForkInChild()
	s.play(status)
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 1, 0, 0)
	}
}

// play runs in the child: nothing here may allocate, lock or grow the stack.
//
//go:norace
//go:nosplit
//go:noinline
func (s *Script) play(status uintptr) {
	for i := range s.prelude {
		a := &s.prelude[i].args
		syscall.RawSyscall(s.prelude[i].nr, a[0], a[1], a[2])
	}
	for i := 0; i < len(s.steps); i++ {
		st := &s.steps[i]
		a := &st.args
		for j := range st.from {
			if st.from[j] >= 0 {
				a[j] = s.regs[st.from[j]]
			}
		}
		r, _, errno := syscall.RawSyscall6(st.nr, a[0], a[1], a[2], a[3], a[4], a[5])
		if errno == 0 && r < st.least {
			errno = syscall.EPIPE
		}
		if errno == st.okay {
			errno = 0
		}
		if errno == 0 {
			s.regs[st.save] = r
			continue
		}
		s.tell(status, i, errno, st)
		if st.skip == 0 {
			return
		}
		i = st.skip - 1
	}
}

//go:norace
//go:nosplit
//go:noinline
func (s *Script) tell(status uintptr, i int, errno syscall.Errno, st *step) {
	p := &s.report
	p.index, p.errno, p.fatal, p.size = uint32(i), uint32(errno), 0, 0
	if st.skip == 0 {
		p.fatal = 1
	}
	if st.log >= 0 {
		n, _, e := syscall.RawSyscall(unix.SYS_READ, s.regs[st.log], uintptr(unsafe.Pointer(&p.text[0])), uintptr(len(p.text)))
		if e == 0 {
			p.size = uint32(n)
		}
	}
	syscall.RawSyscall(unix.SYS_WRITE, status, uintptr(unsafe.Pointer(p)), unsafe.Sizeof(*p))
}
