package linux

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Process is a process held by its pidfd, so that it can never be mistaken
// for another one that got its pid.
type Process struct {
	PID int
	own bool // our child: has to be reaped

	mu sync.Mutex
	fd int // -1 once it has ended: the number may be another process's by then
}

// Hold takes over the pidfd of a child.
func (c *Child) Hold() *Process { return &Process{PID: c.PID, fd: c.PIDFD, own: true} }

// Find holds a process that is not our child.
func Find(pid int) (*Process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, err
	}
	return &Process{PID: pid, fd: fd}, nil
}

// Kill sends a signal. A process that is gone is no error.
func (p *Process) Kill(sig unix.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd < 0 {
		return nil
	}
	err := unix.PidfdSendSignal(p.fd, sig, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// Wait returns when the process has ended, reaps it if it is ours, and lets
// it go. It is called once. The exit of a pid namespace's init comes after its last process and,
// with its mount namespace, its last mount.
func (p *Process) Wait() error {
	defer p.release()
	fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	if !p.own {
		return nil
	}
	for {
		err := unix.Waitid(unix.P_PIDFD, p.fd, nil, unix.WEXITED, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Ended says whether Wait has seen it end.
func (p *Process) Ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fd < 0
}

func (p *Process) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	unix.Close(p.fd)
	p.fd = -1
}

// LastCapability is the highest capability this kernel knows.
func LastCapability() int {
	raw, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return unix.CAP_LAST_CAP
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || n < 0 || n > 63 {
		return unix.CAP_LAST_CAP
	}
	return n
}
