//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/forkbox/forkbox/internal/daemon/launch"
	"golang.org/x/term"
)

// A command that closes all it has of its terminal goes on: the terminal does not
// hang up before it has ended.
func TestCommandClosesItsTerminal(t *testing.T) {
	c := onTerminal(t, "run", "--discard", "--", "bash", "-c", "exec 0<&- 1>&- 2>&-; sleep 0.5; exit 3")
	if code := c.exit(); code != 3 {
		t.Errorf("exit code %d:\n%s", code, c.text())
	}
}

// What reads its terminal to the end, and closes it at its end, ends as it
// would have.
func TestCtrlDEndsWhatReads(t *testing.T) {
	d := atDesk(t, nil, "true")
	for range 10 {
		c := d.forkbox("exec", "-it", "try", "--", "cat")
		c.press("word\r")
		c.expect("word\r\nword\r\n")
		c.press("\x04")
		c.ends(0)
	}
}

// shell is an interactive one, with forkbox in its PATH.
func (d *desk) shell() *terminal {
	d.t.Helper()
	keys, tty, err := pty.Open()
	if err != nil {
		d.t.Fatal(err)
	}
	was, err := term.GetState(int(tty.Fd()))
	if err != nil {
		d.t.Fatal(err)
	}
	c := &terminal{t: d.t, keys: keys, tty: tty, was: was}
	// As at a desk, also where this suite runs under nohup.
	c.cmd = exec.Command("env", "--default-signal=HUP", "bash", "--norc", "--noprofile", "--noediting", "-i")
	c.cmd.Env = append(append(os.Environ(), "FORKBOX_HOME="+d.home, "PS1=$ "), d.env...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, tty, tty
	c.cmd.SysProcAttr = launch.OwnSession()
	c.cmd.SysProcAttr.Setctty = true
	if err := c.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go c.watch()
	d.t.Cleanup(func() {
		c.cmd.Process.Kill()
		c.cmd.Wait()
		awaitSession(d.t, c.cmd.Process.Pid)
		keys.Close()
		tty.Close()
	})
	return c
}

func (c *terminal) expectTimes(want string, times int) {
	c.t.Helper()
	for range 1000 {
		if strings.Count(c.text(), want) >= times {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Fatalf("never saw %q %d times in:\n%s", want, times, c.text())
}

// ctrl-Z stops a command with a terminal, fg continues it, and the shell has its
// terminal in between. Two at once: the second time is as the first. A script
// around it stops with it.
func TestCtrlZStopsAndFgContinues(t *testing.T) {
	for name, line := range map[string]string{
		"exec":     "forkbox exec -it try -- sh -c '%s'",
		"a script": "sh -c \"forkbox exec -it try -- sh -c '%s'; true\"",
		"run":      "forkbox run --discard -- sh -c '%s'",
	} {
		t.Run(name, func(t *testing.T) {
			d := atDesk(t, nil, "true")
			c := d.shell()
			typed := func(script string) string { return strings.Replace(line, "%s", script, 1) + "\r" }
			c.press(typed(`echo g$((1))o; head -n1 | tr a-z A-Z; head -n1 | tr a-z A-Z`))
			c.expect("g1o\r\n")
			c.press("\x1a")
			c.expect("Stopped")
			c.press("echo $((6*7))\r")
			c.expect("42\r\n")
			c.press("fg\r")
			c.press("one\r")
			c.expect("ONE")
			c.press("\x1a")
			c.expectTimes("Stopped", 2)
			c.press("fg\r")
			c.press("two\r")
			c.expect("TWO")
		})
	}
}

// A stopped command is ended from outside like any other job.
func TestKillReachesWhatCtrlZStopped(t *testing.T) {
	d := atDesk(t, nil, "true")
	c := d.shell()
	c.press("forkbox exec -it try -- sh -c 'echo g\"\"o; read x'\r")
	c.expect("go\r\n")
	c.press("\x1a")
	c.expect("Stopped")
	c.press("kill %1\r")
	d.awaitExecs()
}

// A shell that is killed takes what ctrl-Z stopped with it, in the box too.
func TestStoppedCommandEndsWithItsShell(t *testing.T) {
	d := atDesk(t, nil, "true")
	c := d.shell()
	c.press("forkbox exec -it try -- sh -c 'echo g\"\"o; read x'\r")
	c.expect("go\r\n")
	c.press("\x1a")
	c.expect("Stopped")
	c.cmd.Process.Kill()
	c.cmd.Wait()
	d.awaitExecs()
}

// awaitExecs returns when nothing runs in the box any more.
func (d *desk) awaitExecs() {
	d.t.Helper()
	for range 1000 {
		if !strings.Contains(must(d.t, d.home, "execs", "try"), "running") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	d.t.Fatal("it still runs")
}

// awaitSession returns when all that a shell started has ended: what still runs
// would start another daemon.
func awaitSession(t *testing.T, leader int) {
	t.Helper()
	for range 1000 {
		if !sessionLives(leader) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("what the shell started does not end with it")
}

func sessionLives(leader int) bool {
	entries, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range entries {
		text, _ := os.ReadFile(name)
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) > 3 && fields[0] != "Z" && fields[3] == strconv.Itoa(leader) {
			return true
		}
	}
	return false
}

// A command that reads keys as they are has ctrl-Z to itself.
func TestCtrlZIsTheCommandsWhereItReadsKeys(t *testing.T) {
	d := atDesk(t, nil, "true")
	c := d.shell()
	c.press("forkbox exec -it try -- bash -c 'stty raw; echo g\"\"o; head -c1 | od -An -tx1; stty sane'\r")
	c.expect("go\n")
	c.press("\x1a")
	c.expect(" 1a")
}

func TestCtrlZIsTheShellsInTheBox(t *testing.T) {
	d := atDesk(t, nil, "true")
	c := d.shell()
	c.press("forkbox exec -it try -- bash --norc -i\r")
	c.press("sh -c 'echo r$((1))n; sleep 1000'\r")
	c.expect("r1n")
	c.press("\x1a")
	c.expect("Stopped")
	c.press("kill %1; echo in$((1+1))\r")
	c.expect("in2")
}

func TestRunQuietSaysNothing(t *testing.T) {
	d := atDesk(t, nil, "true")
	got := must(t, d.home, "run", "-q", "--discard", "--", "sh", "-c", "echo x > f")
	if got != "" {
		t.Errorf("said %q", got)
	}
}
