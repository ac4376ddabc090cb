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

// terminal is forkbox on a terminal, and a user at the keys.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys *os.File
	tty  *os.File
	was  *term.State // of the caller's terminal, before

	mu   sync.Mutex
	seen bytes.Buffer
}

func onTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	home, err := tempHome()
	if err != nil {
		t.Fatal(err)
	}
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	pty.Setsize(keys, &pty.Winsize{Rows: 33, Cols: 111})
	was, err := term.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	c := &terminal{t: t, keys: keys, tty: tty, was: was}
	c.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: append([]string{"forkbox"}, args...),
		Env:   append(os.Environ(), "FORKBOX_HOME="+home, "TERM=dumb"),
		Stdin: tty, Stdout: tty, Stderr: tty,
	}
	c.cmd.SysProcAttr = launch.OwnSession()
	c.cmd.SysProcAttr.Setctty = true
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go c.watch()
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		c.cmd.Wait()
		keys.Close()
		tty.Close()
		removeHome(t, home)
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
		c.mu.Unlock()
	}
}

func (c *terminal) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.String()
}

func (c *terminal) expect(want string) {
	c.t.Helper()
	for range 1000 {
		if strings.Contains(c.text(), want) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Fatalf("never saw %q in:\n%s", want, c.text())
}

// sees is expect for what may not come.
func (c *terminal) sees(want string) bool {
	for range 100 {
		if strings.Contains(c.text(), want) {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func (c *terminal) press(keys string) { c.keys.WriteString(keys) }

func (c *terminal) exit() int {
	c.t.Helper()
	done := make(chan struct{})
	go func() { c.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		c.t.Fatalf("does not end:\n%s", c.text())
	}
	return c.cmd.ProcessState.ExitCode()
}

// The command has a terminal of its own, of the caller's size, whose keys are
// the caller's. Afterwards the caller's is as before, and is asked.
func TestRunOnATerminal(t *testing.T) {
	c := onTerminal(t, "run", "--", "sh", "-c",
		`stty size; tty; trap 'echo interrupted; exit 5' INT; echo go; while :; do sleep 0.1; done`)
	c.expect("33 111")
	c.expect("/dev/pts/")
	c.expect("go\r\n")
	pty.Setsize(c.keys, &pty.Winsize{Rows: 20, Cols: 77})
	c.press("\x03")
	c.expect("interrupted")
	c.expect("nothing changed")
	if code := c.exit(); code != 5 {
		t.Errorf("exit code %d", code)
	}
	after, err := term.GetState(int(c.tty.Fd()))
	if err != nil || *after != *c.was {
		t.Errorf("the terminal is not as before: %v", err)
	}
}

func TestRunAsksOnATerminal(t *testing.T) {
	for _, row := range []struct{ answer, want string }{
		{"d\n", "discarded"}, {"\n", "kept. Look: forkbox diff --all box1   Apply: forkbox apply --all box1"}, {"k\n", "kept. Look: forkbox diff --all box1   Apply: forkbox apply --all box1"},
	} {
		c := onTerminal(t, "run", "--name", "box1", "--", "sh", "-c", "echo x > /etc/forkbox-test; rm -f /etc/passwd")
		c.expect("1 deleted, 1 added")
		c.expect("/etc/passwd")
		c.expect("keep or discard?")
		c.press(row.answer)
		c.expect(row.want)
		if code := c.exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

// TestCtrlCAtTheQuestion keeps the box, says so, and leaves the terminal as it
// was.
func TestCtrlCAtTheQuestion(t *testing.T) {
	c := onTerminal(t, "run", "--name", "box1", "--", "sh", "-c", "echo x > /tmp/forkbox-test")
	c.expect("keep or discard?")
	c.press("a\x03") // what was typed before it is no answer
	c.expect("kept. Look: forkbox diff --all box1")
	if code := c.exit(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	after, err := term.GetState(int(c.tty.Fd()))
	if err != nil || *after != *c.was {
		t.Errorf("the terminal is not as before: %v", err)
	}
}

// A window that changes its size tells the command.
func TestResize(t *testing.T) {
	c := onTerminal(t, "run", "--discard", "--", "bash", "-c", `trap 'stty size; exit' WINCH; echo go; while :; do sleep 0.05; done`)
	c.expect("go\r\n")
	pty.Setsize(c.keys, &pty.Winsize{Rows: 20, Cols: 77})
	c.expect("20 77")
	if code := c.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
