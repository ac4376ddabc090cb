package linux

import (
	"math"
	"slices"
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

// player makes the calls of a script in the child, which can neither allocate nor
// lock: all that it uses is in here.
type player struct {
	prelude  []step // closes what the child should not hold
	steps    []step
	regs     [maxRegs]uintptr
	report   report
	defaults [32]byte // a signal's default action, and an empty mask: zeros
	stack    []byte
}

// report is what the child writes when a step fails. The layout is fixed.
type report struct {
	index uint32
	errno uint32
	fatal uint32
	size  uint32
	text  [256]byte
}

const reportHead = 16

// prepare gives the player what it plays. A child whose script keeps some
// descriptors closes all others first.
func (p *player) prepare(steps []step, keepFD []int, status int) {
	p.steps, p.stack = steps, make([]byte, childStack)
	if len(keepFD) == 0 {
		return
	}
	keep := append([]int{0, 1, 2, status}, keepFD...)
	slices.Sort(keep)
	next := 0
	for _, fd := range append(keep, math.MaxInt32) {
		if fd > next {
			p.prelude = append(p.prelude, step{nr: unix.SYS_CLOSE_RANGE, args: [6]uintptr{uintptr(next), uintptr(fd - 1)}})
		}
		next = max(next, fd+1)
	}
}

// childStack is what the child plays the script on.
const childStack = 64 << 10

// fork starts a child that plays the script. Between the runtime's hooks no
// stack may grow and nothing may be allocated, in the parent either.
//
//go:norace
//go:noinline
func fork(flags uintptr, pidfd *int32, status uintptr, p *player) (pid uintptr, errno syscall.Errno) {
	beforeFork()
	pid, errno = cloneChild(flags, pidfd, status, p)
	afterFork()
	return pid, errno
}

// playAndExit is the whole life of the child: nothing here may allocate, lock
// or grow the stack. All signals are blocked, and the handlers are the
// parent's; they go back to their defaults before anything can call them.
//
//go:norace
//go:nosplit
func playAndExit(p *player, status uintptr) {
	for sig := uintptr(1); sig <= 64; sig++ {
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&p.defaults)), 0, 8, 0, 0)
	}
	const setMask = 2
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&p.defaults)), 0, 8, 0, 0)
	p.play(status)
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 1, 0, 0)
	}
}

//go:norace
//go:nosplit
func (p *player) play(status uintptr) {
	for i := range p.prelude {
		a := &p.prelude[i].args
		syscall.RawSyscall(p.prelude[i].nr, a[0], a[1], a[2])
	}
	for i := 0; i < len(p.steps); i++ {
		st := &p.steps[i]
		a := &st.args
		for j := range st.from {
			if st.from[j] >= 0 {
				a[j] = p.regs[st.from[j]]
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
			p.regs[st.save] = r
			continue
		}
		p.tell(status, i, errno, st)
		if st.skip == 0 {
			return
		}
		i = st.skip - 1
	}
}

//go:norace
//go:nosplit
func (p *player) tell(status uintptr, i int, errno syscall.Errno, st *step) {
	r := &p.report
	r.index, r.errno, r.fatal, r.size = uint32(i), uint32(errno), 0, 0
	if st.skip == 0 {
		r.fatal = 1
	}
	if st.log >= 0 {
		n, _, e := syscall.RawSyscall(unix.SYS_READ, p.regs[st.log], uintptr(unsafe.Pointer(&r.text[0])), uintptr(len(r.text)))
		if e == 0 {
			r.size = uint32(n)
		}
	}
	syscall.RawSyscall(unix.SYS_WRITE, status, uintptr(unsafe.Pointer(r)), unsafe.Sizeof(*r))
}
