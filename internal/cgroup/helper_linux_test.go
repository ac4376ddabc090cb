package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The first thread stays out of it: one that enters a group is thrown away,
// and the first cannot be.
func init() { runtime.LockOSThread() }

const roleKey = "FORKBOX_CGROUP_TEST_ROLE"

// TestMain: the processes that are limited, frozen and killed are this program
// again, in a role.
func TestMain(m *testing.M) {
	role := strings.Fields(os.Getenv(roleKey))
	if len(role) == 0 {
		// Whose parents die become ours to bury: the host's first process may
		// be slow at it, and has other things to do.
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		os.Exit(m.Run())
	}
	argument := 0
	if len(role) > 1 {
		argument, _ = strconv.Atoi(role[1])
	}
	roles[role[0]](argument)
	os.Exit(0)
}

var roles = map[string]func(int){
	"sleep":    func(int) { say("ready"); forever() },
	"eat":      eat,
	"eatCache": eatCache,
	"spin":     func(int) { say("ready"); spin() },
	"spawn":    spawn,
	"bomb":     func(int) { signal.Ignore(unix.SIGTERM); say("ready"); bomb() },
	"churn":    func(n int) { signal.Ignore(unix.SIGTERM); churn(n) },
	"vfork":    vforkForever,
	"tick":     tick,
	"leaderless": func(int) {
		say("ready")
		unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0) // of this thread, the first, only
	},
	"exit": func(int) {},
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// forever is longer than any test. No role goes on for good: a test that dies
// must not leave the host with something that runs wild.
func forever() {
	time.Sleep(lifetime)
	os.Exit(1)
}

const lifetime = 2 * time.Minute

// eat takes so many megabytes, and holds them.
func eat(megabytes int) {
	data, err := unix.Mmap(-1, 0, megabytes<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(data); i += 4096 {
		data[i] = 1
	}
	say("ate")
	forever()
}

// eatCache writes a file of so many megabytes and goes on.
func eatCache(megabytes int) {
	f, err := os.CreateTemp(os.Getenv("TMPDIR"), "cache")
	if err != nil {
		panic(err)
	}
	os.Remove(f.Name())
	for range megabytes {
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			panic(err)
		}
	}
	if err := f.Sync(); err != nil {
		panic(err)
	}
	say("ate")
	forever()
}

func spin() {
	for end := time.Now().Add(lifetime); time.Now().Before(end); {
	}
}

// fork has a child that goes on with the caller's code and may only make
// system calls: it has no Go runtime.
//
//go:nosplit
//go:norace
func fork() (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	return pid, errno
}

//go:nosplit
//go:norace
func pause() {
	span := unix.Timespec{Sec: int64(lifetime / time.Second)}
	syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, uintptr(unsafe.Pointer(&span)), 0, 0, 0)
	leave()
}

//go:nosplit
//go:norace
func leave() {
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

// spawn has so many children, and says how many it could have.
func spawn(n int) {
	for i := range n {
		pid, errno := fork()
		if errno != 0 {
			say("%d %s", i, unix.ErrnoName(errno))
			forever()
		}
		if pid == 0 {
			pause()
		}
	}
	say("%d", n)
	forever()
}

// mostForks bounds a bomb that gets out of its group: the host has numbers for
// 32 768 processes, and those that are dead and not buried have one each.
const mostForks = 10_000

// bomb has children that do the same.
func bomb() {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		panic(err)
	}
	left := (*int32)(unsafe.Pointer(&page[0])) // which all of them share
	*left = mostForks
	explode(left)
}

//go:nosplit
//go:norace
func explode(left *int32) {
	for range 3_000_000 {
		if atomic.AddInt32(left, -1) < 0 {
			pause()
		}
		switch pid, errno := fork(); {
		case errno != 0: // it cost no number
			atomic.AddInt32(left, 1)
		case pid == 0:
			syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
		}
	}
	leave()
}

// churn is n families of which each has one process at a time, in a session of
// its own, that has a child and ends: as hard to catch as it gets. It buries
// them, or the host would run out of numbers for processes.
func churn(n int) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	for range n {
		if pid, _ := fork(); pid == 0 {
			flee()
		}
	}
	say("ready")
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); errors.Is(err, unix.ECHILD) {
			return
		}
	}
}

//go:nosplit
//go:norace
func flee() {
	nap := unix.Timespec{Nsec: 500_000}
	for range 20_000 {
		syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
		if pid, errno := fork(); errno == 0 && pid != 0 {
			leave()
		}
		syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&nap)), 0, 0)
	}
	leave()
}

// vforkForever: os/exec starts programs as vfork does.
func vforkForever(int) {
	say("ready")
	for range 100_000 {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{roleKey + "=exit"}
		_ = cmd.Run()
	}
}

// tick adds to a file as fast as it can.
func tick(int) {
	f, err := os.OpenFile(os.Getenv("TICKS"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	say("ready")
	for range 1_000_000 {
		_, _ = f.WriteString("x")
		time.Sleep(100 * time.Microsecond)
	}
}

// actor is a process in a role.
type actor struct {
	*exec.Cmd
	out *bufio.Reader
}

// start starts a role in a group.
func start(t *testing.T, way func() (*Entry, error), role string, env ...string) *actor {
	t.Helper()
	entry, err := way()
	if err != nil {
		t.Fatal(err)
	}
	defer entry.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), append(env, roleKey+"="+role)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := startIn(entry, cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &actor{cmd, bufio.NewReader(out)}
}

// startIn is how a process is born in a group.
func startIn(entry *Entry, cmd *exec.Cmd) error {
	if entry.Dir != nil {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(entry.Dir.Fd())
		return cmd.Start()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this
		err := entry.Enter()
		if err == nil {
			err = cmd.Start()
		}
		done <- err
	}()
	return <-done
}

// hears waits for a line.
func (a *actor) hears(t *testing.T) string {
	t.Helper()
	line, err := a.out.ReadString('\n')
	if err != nil {
		t.Fatalf("it said nothing: %v", err)
	}
	return strings.TrimSpace(line)
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 3000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: never", what)
}

// ticking is a file that grows while its writer runs.
func ticking(t *testing.T, way func() (*Entry, error)) (size func() int64) {
	t.Helper()
	f, err := os.CreateTemp("", "ticks")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	t.Cleanup(func() { os.Remove(f.Name()) })
	start(t, way, "tick", "TICKS="+f.Name()).hears(t)
	return func() int64 {
		info, err := os.Stat(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
}
