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
)

// A command that closes all it has of its terminal goes on: the terminal does not
// hang up before it has ended.
func TestCommandClosesItsTerminal(t *testing.T) {
	t.Parallel()
	c := onTerminal(t, "run", "--discard", "--", "bash", "-c", "exec 0<&- 1>&- 2>&-; sleep 0.5; exit 3")
	if code := c.exit(); code != 3 {
		t.Errorf("exit code %d:\n%s", code, c.text())
	}
}

// What reads its terminal to the end, and closes it at its end, ends as it
// would have.
func TestCtrlDEndsWhatReads(t *testing.T) {
	t.Parallel()
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
	d.Helper()
	// As at a desk, also where this suite runs under nohup.
	cmd := exec.Command("env", "--default-signal=HUP", "bash", "--norc", "--noprofile", "--noediting", "-i")
	cmd.Env, cmd.Dir = append(d.command().Env, "PS1=$ "), d.root
	return d.onPty(pty.Winsize{}, cmd)
}

// ctrl-Z stops a command with a terminal, fg continues it, and the shell has its
// terminal in between. Two at once: the second time is as the first. A script
// around it stops with it.
func TestCtrlZStopsAndFgContinues(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	d.Helper()
	d.until("nothing runs", func() bool { return !strings.Contains(d.must("execs", "try"), "running") })
}

// awaitSession returns when all that a command on a terminal started has ended: what
// still runs would start another daemon. They are not our children: they are looked for
// again and again.
func awaitSession(t *testing.T, leader int) {
	t.Helper()
	for end := time.Now().Add(worldPatience); sessionLives(leader); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error("what it started does not end with it")
			return
		}
	}
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
	t.Parallel()
	d := atDesk(t, nil, "true")
	c := d.shell()
	c.press("forkbox exec -it try -- bash -c 'stty raw; echo g\"\"o; head -c1 | od -An -tx1; stty sane'\r")
	c.expect("go\n")
	c.press("\x1a")
	c.expect(" 1a")
}

func TestCtrlZIsTheShellsInTheBox(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	d := atDesk(t, nil, "true")
	got := d.must("run", "-q", "--discard", "--", "sh", "-c", "echo x > f")
	if got != "" {
		t.Errorf("said %q", got)
	}
}
