//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestRaceInterrupted is ctrl-C: all is still, and what was done can be looked
// at.
func TestRaceInterrupted(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	step, mark := endless()
	cmd, out := w.background("race", "--name", "r", "--try", "a=echo kept > f; "+step, "--try", "b="+step)
	w.until("both run", func() bool { return len(processesWith(mark, "sleep")) == 2 })
	w.ok(cmd.Process.Signal(os.Interrupt))
	if code := exitCode(cmd.Wait()); code != 130 {
		t.Errorf("exit %d: %s", code, out())
	}
	if runsStill(mark) {
		t.Error("something runs still")
	}
	r := w.show("r")
	if r.State != forkbox.RaceCancelled || outcomes(r) != "a:cancelled b:cancelled" {
		t.Errorf("%s", told(r))
	}
	if got := w.sh("r-a", "cat f"); got != "kept" {
		t.Errorf("what a did is %q", got)
	}
	if out := w.must("race", "ls"); !strings.Contains(out, "cancelled") {
		t.Errorf("ls does not say so: %s", out)
	}
}

// background starts a command line, and says what it printed so far.
func (w *raceWorld) background(args ...string) (*exec.Cmd, func() string) {
	w.Helper()
	log := w.file(fmt.Sprintf("out-%d", len(args)))
	f, err := os.Create(log)
	w.ok(err)
	defer f.Close()
	cmd := w.command(args...)
	cmd.Stdout, cmd.Stderr = f, f
	w.ok(cmd.Start())
	w.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, func() string { text, _ := os.ReadFile(log); return string(text) }
}

// TestRaceOutlivesItsClient: who is killed cannot cancel, and the race goes on.
func TestRaceOutlivesItsClient(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	cmd, _ := w.background("race", "--name", "r", "--try", "a=touch here; "+awaits("go"), "--check", "test -e here")
	w.awaitFile("r-a", "here")
	w.ok(cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	w.letGo("r-a")
	out, said, code := w.cli("race", "watch", "r", "--json")
	if r := w.ended(out); code != 0 || r.Winner != "a" {
		t.Errorf("exit %d: %s%s", code, told(r), said)
	}
}

// awaits is a piece of script that goes on when there is a file.
func awaits(name string) string { return "until [ -e " + name + " ]; do sleep 0.02; done" }

// awaitFile waits until a box of a race has a file in the workspace.
func (w *raceWorld) awaitFile(box, name string) {
	w.Helper()
	w.until(box+" has "+name, func() bool {
		_, _, code := w.cli("exec", box, "--", "test", "-e", name)
		return code == 0
	})
}

// TestRaceCancel ends one from elsewhere; it can be repeated.
func TestRaceCancel(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	step, mark := endless()
	if out := w.must("race", "-d", "--name", "r", "--try", "a="+step, "--try", "b="+step); out != "r" {
		t.Errorf("-d prints %q", out)
	}
	w.until("both run", func() bool { return len(processesWith(mark, "sleep")) == 2 })
	w.refused([]string{"rm -f r"}, "race", "rm", "r")
	for range 2 {
		w.must("race", "cancel", "r")
		if r := w.show("r"); runsStill(mark) || r.State != forkbox.RaceCancelled || r.Winner != "" {
			t.Errorf("it runs still: %s", told(r))
		}
	}
	w.refused([]string{"nobody"}, "race", "apply", "--yes", "r")
}
