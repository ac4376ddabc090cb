package linux

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Script is an ordered list of system calls that a forked child makes before
// it executes a program. It is how a box is built: the whole sandbox can be
// read top to bottom in the code that fills the script.
//
// Why not ordinary Go: entering a user namespace is refused in a process with
// threads, and a Go process always has some. Between fork and exec the child
// has one thread, but cannot run Go code that allocates, locks or grows its
// stack. So the parent prepares every argument and the child only plays the
// list.
type Script struct {
	steps  []step
	what   []string  // for people: what each step does
	args   arguments // what the steps point to
	used   Reg
	keepFD []int  // descriptors that the child does not close
	above  int    // files are placed below this number
	log    Reg    // the fs context whose messages explain a failure
	player player // who plays it
}

// arguments keeps what the steps of a script point to for as long as they do.
type arguments struct{ kept []any }

// Reg holds the result of a step for later steps.
type Reg int8

const (
	maxRegs     = 64
	noReg   Reg = -1
)

type step struct {
	nr    uintptr
	args  [6]uintptr
	from  [6]Reg // where an argument comes from, or noReg
	save  Reg
	log   Reg
	least uintptr       // the result must be at least this
	okay  syscall.Errno // an error that is fine
	past  int           // how many of the next steps are left out then
	skip  int           // where to go on after an error; 0 ends the child
}

// NewScript returns an empty script.
func NewScript() *Script { return &Script{log: noReg} }

// Do appends a system call. Arguments are int, uintptr, string, []byte, Reg,
// or a pointer to a struct made for the call.
func (s *Script) Do(what string, nr uintptr, args ...any) Reg {
	st := step{nr: nr, save: s.used, log: s.log, from: [6]Reg{noReg, noReg, noReg, noReg, noReg, noReg}}
	if s.used < maxRegs-1 {
		s.used++
	}
	for i, a := range args {
		st.args[i], st.from[i] = s.args.put(a)
	}
	s.steps = append(s.steps, st)
	s.what = append(s.what, what)
	return st.save
}

// put keeps an argument, and says what the step has: its value, or the register
// that it comes from.
func (k *arguments) put(a any) (uintptr, Reg) {
	switch a := a.(type) {
	case int:
		return uintptr(a), noReg
	case uint64:
		return uintptr(a), noReg
	case uintptr:
		return a, noReg
	case Reg:
		return 0, a
	case string:
		b := append([]byte(a), 0)
		return k.pointer(b, unsafe.Pointer(&b[0])), noReg
	case []byte:
		if len(a) == 0 {
			return 0, noReg
		}
		return k.pointer(a, unsafe.Pointer(&a[0])), noReg
	case *unix.MountAttr:
		return k.pointer(a, unsafe.Pointer(a)), noReg
	case *unix.Rlimit:
		return k.pointer(a, unsafe.Pointer(a)), noReg
	case []*byte:
		return k.pointer(a, unsafe.Pointer(&a[0])), noReg
	}
	panic(fmt.Sprintf("script argument of type %T", a))
}

func (k *arguments) pointer(keep any, p unsafe.Pointer) uintptr {
	k.kept = append(k.kept, keep)
	return uintptr(p)
}

func (s *Script) last() *step { return &s.steps[len(s.steps)-1] }

// Free gives back the registers taken since r, for scripts with many steps.
func (s *Script) free(r Reg) { s.used = r }

// Okay marks an error of the last step as success.
func (s *Script) Okay(errno syscall.Errno) { s.last().okay = errno }

// Try appends the steps that body appends. If one of them fails the rest of
// them is left out, the failure is reported, and the script goes on.
func (s *Script) Try(body func()) {
	first := len(s.steps)
	body()
	for i := first; i < len(s.steps); i++ {
		if s.steps[i].skip == 0 {
			s.steps[i].skip = len(s.steps)
		}
	}
}

// StepError says which step of a script failed.
type StepError struct {
	What  string
	Errno syscall.Errno
	Log   string // what the filesystem said
}

func (e *StepError) Error() string {
	if e.Log != "" {
		return fmt.Sprintf("%s: %v (%s)", e.What, e.Errno, e.Log)
	}
	return fmt.Sprintf("%s: %v", e.What, e.Errno)
}

func (e *StepError) Unwrap() error { return e.Errno }

// Child is a forked process and what it reports.
type Child struct {
	PID    int
	PIDFD  int
	status *os.File
	script *Script
}

// Keep names the descriptors that the script or its program need. A child whose
// script names some closes all others first: it must not keep the daemon's sockets alive, nor
// pass on what the process that started the daemon left open.
func (s *Script) Keep(fds ...int) { s.keepFD = append(s.keepFD, fds...) }

// Fork starts a child in new namespaces that plays the script. The last step
// should be an Exec: a script that ends without one ends the child.
func (s *Script) Fork(flags uintptr) (*Child, error) {
	r, w, err := os.Pipe() // close-on-exec: exec ends it, and that is success
	if err != nil {
		return nil, err
	}
	defer w.Close()
	var pidfd int32
	statusFD := w.Fd()
	if s.above > 0 {
		high, err := unix.FcntlInt(statusFD, unix.F_DUPFD_CLOEXEC, s.above)
		if err != nil {
			r.Close()
			return nil, err
		}
		defer unix.Close(high)
		statusFD = uintptr(high)
	}
	s.player.prepare(s.steps, s.keepFD, int(statusFD))
	// No one may open a file between our clone and the child's exec without
	// close-on-exec; the lock is the one os/exec takes too.
	syscall.ForkLock.Lock()
	pid, errno := fork(flags|unix.CLONE_PIDFD|uintptr(unix.SIGCHLD), &pidfd, statusFD, &s.player)
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(s)
	if errno != 0 {
		r.Close()
		return nil, fmt.Errorf("clone: %w", errno)
	}
	return &Child{PID: int(pid), PIDFD: int(pidfd), status: r, script: s}, nil
}

// Wait returns when the child has executed its program, with the steps of Try
// blocks that failed, or with the error that ended the child.
func (c *Child) Wait(limit time.Duration) (skipped []error, err error) {
	defer c.status.Close()
	_ = c.status.SetReadDeadline(time.Now().Add(limit))
	for {
		e, fatal, err := c.next()
		switch {
		case errors.Is(err, io.EOF):
			return skipped, nil
		case err != nil:
			return skipped, fmt.Errorf("set-up did not finish: %w", err)
		case fatal:
			return skipped, e
		}
		skipped = append(skipped, e)
	}
}

func (c *Child) next() (*StepError, bool, error) {
	var head [reportHead]byte
	if _, err := io.ReadFull(c.status, head[:]); err != nil {
		return nil, false, err
	}
	word := func(i int) uint32 { return binary.NativeEndian.Uint32(head[4*i:]) }
	text := make([]byte, len(report{}.text))
	if _, err := io.ReadFull(c.status, text); err != nil {
		return nil, false, err
	}
	e := &StepError{What: "unknown step", Errno: syscall.Errno(word(1))}
	if i := int(word(0)); i < len(c.script.what) {
		e.What = c.script.what[i]
	}
	if n := int(word(3)); n <= len(text) {
		e.Log = strings.TrimSpace(string(bytes.TrimRight(text[:n], "\x00\n")))
	}
	return e, word(2) != 0, nil
}
