package linux

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The runtime's own hooks around a fork: they block signals in the parent. The
// runtime keeps these names for programs that, like this one, must fork
// without os/exec.

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

// childStack is what the child plays the script on.
const childStack = 64 << 10

// fork starts a child that plays the script. Between the runtime's hooks no
// stack may grow and nothing may be allocated, in the parent either.
//
//go:norace
//go:noinline
func fork(flags uintptr, pidfd *int32, status uintptr, s *Script) (pid uintptr, errno syscall.Errno) {
	s.stack = make([]byte, childStack)
	beforeFork()
	pid, errno = cloneChild(flags, pidfd, status, s)
	afterFork()
	return pid, errno
}

// playAndExit is the whole life of the child: nothing here may allocate, lock
// or grow the stack. All signals are blocked, and the handlers are the
// parent's; they go back to their defaults before anything can call them.
//
//go:norace
//go:nosplit
func playAndExit(s *Script, status uintptr) {
	for sig := uintptr(1); sig <= 64; sig++ {
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&s.defaults)), 0, 8, 0, 0)
	}
	const setMask = 2
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&s.defaults)), 0, 8, 0, 0)
	s.play(status)
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 1, 0, 0)
	}
}

//go:norace
//go:nosplit
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
		if errno != 0 && errno == st.okay {
			errno = 0
			i += st.past
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
