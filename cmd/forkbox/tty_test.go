//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/forkbox/forkbox/internal/daemon/launch"
	"golang.org/x/term"
)

// terminal is a command on a terminal, and a user at the keys.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys *os.File
	tty  *os.File
	was  *term.State // of the caller's terminal, before

	mu   sync.Mutex
	seen bytes.Buffer
	more chan struct{} // closed when there is more to see
}

// onPty starts a command on a terminal of a size. It is killed when the test ends,
// and before its world is: it would start the next daemon.
func (w *world) onPty(size pty.Winsize, cmd *exec.Cmd) *terminal {
	w.Helper()
	keys, tty, err := pty.Open()
	w.ok(err)
	w.ok(pty.Setsize(keys, &size))
	was, err := term.GetState(int(tty.Fd()))
	w.ok(err)
	c := &terminal{t: w.T, keys: keys, tty: tty, was: was, cmd: cmd, more: make(chan struct{})}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, tty, tty
	c.cmd.SysProcAttr = launch.OwnSession()
	c.cmd.SysProcAttr.Setctty = true
	w.ok(c.cmd.Start())
	go c.watch()
	w.Cleanup(func() {
		c.cmd.Process.Kill()
		c.cmd.Wait()
		awaitSession(w.T, c.cmd.Process.Pid)
		keys.Close()
		tty.Close()
	})
	return c
}

func (c *terminal) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := c.keys.Read(buf)
		if err != nil {
			return
		}
		c.mu.Lock()
		c.seen.Write(buf[:n])
		close(c.more)
		c.more = make(chan struct{})
		c.mu.Unlock()
	}
}

func (c *terminal) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.String()
}

// shows waits until something was seen so many times.
func (c *terminal) shows(want string, times int, patience time.Duration) bool {
	late := time.After(patience)
	for {
		c.mu.Lock()
		seen, more := c.seen.String(), c.more
		c.mu.Unlock()
		if strings.Count(seen, want) >= times {
			return true
		}
		select {
		case <-more:
		case <-late:
			return false
		}
	}
}

func (c *terminal) expect(want string) {
	c.t.Helper()
	c.expectTimes(want, 1)
}

func (c *terminal) expectTimes(want string, times int) {
	c.t.Helper()
	if !c.shows(want, times, worldPatience) {
		c.t.Fatalf("never saw %q %d times in:\n%s", want, times, c.text())
	}
}

func (c *terminal) press(keys string) { c.keys.WriteString(keys) }

func (c *terminal) exit() int {
	c.t.Helper()
	late := time.AfterFunc(worldPatience, func() { c.cmd.Process.Kill() })
	c.cmd.Wait()
	if !late.Stop() {
		c.t.Fatalf("does not end:\n%.4000s", c.text())
	}
	return c.cmd.ProcessState.ExitCode()
}

func (c *terminal) ends(code int) {
	c.t.Helper()
	if got := c.exit(); got != code {
		c.t.Errorf("exit code %d, not %d:\n%.4000s", got, code, c.text())
	}
}

// isRestored finds the caller's terminal as it was.
func (c *terminal) isRestored() {
	c.t.Helper()
	if now, err := term.GetState(int(c.tty.Fd())); err != nil || *now != *c.was {
		c.t.Errorf("the terminal is not as before: %v", err)
	}
}

// onTerminal starts forkbox on a terminal, in a world without a box.
func onTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	return newDesk(t).forkbox(args...)
}

// The command has a terminal of its own, of the caller's size, whose keys are
// the caller's. Afterwards the caller's is as before, and is asked.
func TestRunOnATerminal(t *testing.T) {
	t.Parallel()
	c := onTerminal(t, "run", "--", "sh", "-c",
		`stty size; tty; trap 'echo interrupted; exit 5' INT; echo go; while :; do sleep 0.1; done`)
	c.expect("33 111")
	c.expect("/dev/pts/")
	c.expect("go\r\n")
	pty.Setsize(c.keys, &pty.Winsize{Rows: 20, Cols: 77})
	c.press("\x03")
	c.expect("interrupted")
	c.expect("nothing changed")
	c.ends(5)
	c.isRestored()
}

func TestRunAsksOnATerminal(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ answer, want string }{
		{"d\n", "discarded"}, {"\n", "kept. Look: forkbox diff --all box1   Apply: forkbox apply --all box1"}, {"k\n", "kept. Look: forkbox diff --all box1   Apply: forkbox apply --all box1"},
	} {
		c := onTerminal(t, "run", "--name", "box1", "--", "sh", "-c", "echo x > /etc/forkbox-test; rm -f /etc/passwd")
		c.expect("1 deleted, 1 added")
		c.expect("/etc/passwd")
		c.expect("keep or discard?")
		c.press(row.answer)
		c.expect(row.want)
		c.ends(0)
	}
}

// TestCtrlCAtTheQuestion keeps the box, says so, and leaves the terminal as it
// was.
func TestCtrlCAtTheQuestion(t *testing.T) {
	t.Parallel()
	c := onTerminal(t, "run", "--name", "box1", "--", "sh", "-c", "echo x > /tmp/forkbox-test")
	c.expect("keep or discard?")
	c.press("a\x03") // what was typed before it is no answer
	c.expect("kept. Look: forkbox diff --all box1")
	c.ends(130)
	c.isRestored()
}

// A window that changes its size tells the command.
func TestResize(t *testing.T) {
	t.Parallel()
	c := onTerminal(t, "run", "--discard", "--", "bash", "-c", `trap 'stty size; exit' WINCH; echo go; while :; do sleep 0.05; done`)
	c.expect("go\r\n")
	pty.Setsize(c.keys, &pty.Winsize{Rows: 20, Cols: 77})
	c.expect("20 77")
	c.ends(0)
}
