//go:build linux

package main

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// outsideVar names the directory of an outside world on whose host the tests
// already are. Who has no rights to make one is given it so.
const outsideVar = "FORKBOX_TEST_OUTSIDE"

// theOutside is the outside world as tests know it.
type theOutside struct {
	dir  string
	host string // the host's network namespace; empty: the tests are in it
}

var makeOutside = sync.OnceValues(func() (*theOutside, error) {
	if dir := os.Getenv(outsideVar); dir != "" {
		return &theOutside{dir: dir}, nil
	}
	return startOutside()
})

// findOutside is one for all tests of this process.
func findOutside(t *testing.T) *theOutside {
	t.Helper()
	if os.Getenv(outsideVar) == "" && os.Geteuid() != 0 {
		t.Skip("only root can make an outside world; scripts/suite makes one for those who are not")
	}
	out, err := makeOutside()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// startOutside starts one that ends with this process: its stdin is a pipe that
// only this process has. No test has to kill it, so none can forget to.
func startOutside() (*theOutside, error) {
	dir, err := os.MkdirTemp("", "fbtest-outside-")
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, outsideArg, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	said := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	return waitForOutside(dir, gone, said)
}

func waitForOutside(dir string, gone <-chan error, said fmt.Stringer) (*theOutside, error) {
	for end := time.Now().Add(worldPatience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		select {
		case err := <-gone:
			return nil, fmt.Errorf("the outside world ended: %v: %s", err, said)
		default:
		}
		if _, err := os.Stat(filepath.Join(dir, "control.sock")); err != nil {
			continue
		}
		pid, err := os.ReadFile(filepath.Join(dir, "host.pid"))
		return &theOutside{dir: dir, host: "/proc/" + string(pid) + "/ns/net"}, err
	}
	return nil, fmt.Errorf("the outside world does not begin")
}

func (o *theOutside) outsideFile(name string) string { return filepath.Join(o.dir, name) }

// onHost does something in the network of the world's host: sockets that are
// made meanwhile, and processes that are started, belong there. A thread that
// cannot be brought back is thrown away with its goroutine.
func (o *theOutside) onHost(t testing.TB, do func()) {
	t.Helper()
	if o.host == "" {
		do()
		return
	}
	runtime.LockOSThread()
	back, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	there, err := os.Open(o.host)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if unix.Setns(int(back.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
	}()
	do()
}

// dialHost connects from the host, by address: a name would be looked up by
// another thread, elsewhere.
func (o *theOutside) dialHost(t testing.TB, network, address string) (c net.Conn, err error) {
	t.Helper()
	netip.MustParseAddrPort(address)
	o.onHost(t, func() { c, err = net.DialTimeout(network, address, worldPatience) })
	return c, err
}
