//go:build linux

package boxinit

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// ctrlZ is the key that stops, unless the terminal has another for that.
const ctrlZ = 'Z' - '@'

// suspend stops the exec as the key that stops would, and says whether it did.
//
// The kernel leaves that key without effect here: it discards the signal in a
// process group that no shell of the same session looks after. So init does what
// the signal would have done, where no process of the group handles, ignores or
// blocks it and the key is not plain input.
func (c *child) suspend() bool {
	if c.tty == nil || !takesCtrlZ(c.tty) || foreground(c.tty) != c.pid {
		return false
	}
	all, err := stats()
	if err != nil {
		return false
	}
	for _, st := range all {
		if st.group == c.pid && st.state != "Z" && !stopsByDefault(st.pid) {
			return false
		}
	}
	return syscall.Kill(-c.pid, syscall.SIGSTOP) == nil
}

// takesCtrlZ says whether the terminal makes a signal of ctrl-Z.
func takesCtrlZ(tty *os.File) bool {
	conn, err := tty.SyscallConn()
	if err != nil {
		return false
	}
	takes := false
	_ = conn.Control(func(fd uintptr) {
		mode, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
		takes = err == nil && mode.Lflag&unix.ISIG != 0 && mode.Cc[unix.VSUSP] == ctrlZ
	})
	return takes
}

// stopsByDefault says whether a process neither handles, ignores nor blocks the
// terminal's request to stop.
func stopsByDefault(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return true // it has just ended
	}
	const stop = 1 << (uint(syscall.SIGTSTP) - 1)
	for line := range bytes.Lines(status) {
		for _, name := range []string{"SigBlk:", "SigIgn:", "SigCgt:"} {
			text, found := bytes.CutPrefix(line, []byte(name))
			if !found {
				continue
			}
			if mask, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 16, 64); err != nil || mask&stop != 0 {
				return false
			}
		}
	}
	return true
}
