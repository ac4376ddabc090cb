//go:build linux

package boxinit

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// timeoutGrace is what an exec gets between TERM and KILL when its time is up.
const timeoutGrace = 5 * time.Second

var (
	noDeadline time.Time
	past       = time.Unix(1, 0)
)

// ExecVariable is set in every exec's environment. Init finds the processes
// that an exec started by it, whatever they did to leave its session.
const ExecVariable = "FORKBOX_EXEC"

// signal reaches what a terminal's signal would: the foreground group with a
// terminal, the exec's own group without.
func (c *child) signal(sig syscall.Signal) error {
	group := c.pid
	if c.tty != nil {
		if fg := foreground(c.tty); fg > 0 {
			group = fg
		}
	}
	if err := syscall.Kill(-group, sig); err != nil {
		return syscall.Kill(c.pid, sig)
	}
	return nil
}

// kill ends the exec and everything it started: TERM, a grace, KILL. It
// returns once they are gone.
func (c *child) kill(grace forkbox.Grace, cause forkbox.Cause) error {
	c.hurry()
	c.mu.Lock()
	if c.cause == "" {
		c.cause = cause
	}
	c.ending.Add(1)
	c.mu.Unlock()
	defer c.ending.Done()
	if grace > 0 {
		c.each(syscall.SIGTERM)
		c.each(syscall.SIGCONT)
		deadline := time.Now().Add(grace)
		for time.Now().Before(deadline) && len(c.tree()) > 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	// What forks faster than it is killed is stopped first, then killed.
	for n := range 100 {
		if len(c.tree()) == 0 {
			return nil
		}
		if n == 0 && grace > 0 {
			c.mu.Lock()
			c.forced = true
			c.mu.Unlock()
		}
		c.each(syscall.SIGSTOP)
		c.each(syscall.SIGKILL)
		time.Sleep(time.Millisecond)
	}
	return forkbox.Errorf(forkbox.Busy, "kill exec "+c.id, "its processes do not end").
		Hint("stop the whole box: forkbox stop")
}

func (c *child) each(sig syscall.Signal) {
	for _, pid := range c.tree() {
		_ = syscall.Kill(pid, sig)
	}
}

// tree lists the live processes that belong to the exec: those in its cgroup
// or with its stamp, its descendants, its session, and orphans that still carry
// its mark in their environment.
func (c *child) tree() []int {
	all, err := stats()
	if err != nil {
		return nil
	}
	mark := []byte(ExecVariable + "=" + c.id)
	mine := map[int]bool{}
	for again := true; again; {
		again = false
		for _, st := range all {
			if mine[st.pid] || st.pid == 1 || st.state == "Z" {
				continue
			}
			if st.pid == c.pid || mine[st.ppid] || st.session == c.pid || linux.Stamped(st.pid, c.stamp) || c.inGroup(st.pid) || marked(st.pid, mark) {
				mine[st.pid], again = true, true
			}
		}
	}
	pids := make([]int, 0, len(mine))
	for pid := range mine {
		pids = append(pids, pid)
	}
	return pids
}

func marked(pid int, mark []byte) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for _, entry := range bytes.Split(env, []byte{0}) {
		if bytes.Equal(entry, mark) {
			return true
		}
	}
	return false
}

// inGroup says whether a process is in the exec's cgroup: it cannot leave that,
// whatever it does to its parents, session and environment.
func (c *child) inGroup(pid int) bool {
	if c.group == "" {
		return false
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if bytes.HasSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte(c.group)) {
			return true
		}
	}
	return false
}
