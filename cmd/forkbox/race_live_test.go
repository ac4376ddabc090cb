//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/forkbox/forkbox"
)

// TestRaceLive is the live view: a row for each approach, and at the end the
// table and the verdict, which stay.
func TestRaceLive(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	c := w.onColours(pty.Winsize{Rows: 30, Cols: 110}, "race", "--name", "r",
		"--try", "first=touch here; echo says hello; "+awaits("go"), "--try", "second=seq 3 > f", "--check", "true")
	c.expect("first")
	c.expect("second")
	w.awaitFile("r-first", "here")
	c.expect("says hello")
	w.ok(pty.Setsize(c.keys, &pty.Winsize{Rows: 8, Cols: 40}))
	w.letGo("r-first")
	w.comes(c, 0)
	text := ownCodes.ReplaceAllString(c.text(), "")
	if end := text[max(0, len(text)-3000):]; !strings.Contains(end, "first wins") && !strings.Contains(end, "second wins") {
		t.Errorf("the end is %q", end)
	}
}

// TestRaceLiveHostile has hostile output on a real terminal, also on one that
// is far too small.
func TestRaceLiveHostile(t *testing.T) {
	t.Parallel()
	w := newWeighedRaceWorld(t)
	file := w.raceFile(hostileRace)
	for _, size := range []pty.Winsize{{Rows: 33, Cols: 111}, {Rows: 3, Cols: 10}, {Rows: 1, Cols: 1}, {}} {
		c := w.onColours(size, "race", "-f", file)
		w.comes(c, 0)
		tame(t, c.text(), ownCodes)
		if size.Cols > 100 && !strings.Contains(c.text(), "EVIL") {
			t.Error("the screen does not show what was printed")
		}
		w.lean(c.cmd)
		if strings.Contains(c.text(), strings.Repeat("x", 1000)) {
			t.Error("a line of megabytes is on the screen")
		}
		w.must("race", "rm", "bad")
	}
	w.daemonIsLean()
}

// TestRaceLiveMany has more approaches than the screen has rows: none is drawn
// below its end, which would scroll what was there before away.
func TestRaceLiveMany(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	c := w.onColours(pty.Winsize{Rows: 12, Cols: 60}, "race", "--name", "r", "--n", "20", "--parallel", "3", "--try", "a=sleep 0.3", "--check", "true")
	c.expect("more")
	w.comes(c, 0)
	if r := w.show("r"); len(r.Entries) != 20 || r.Winner == "" {
		t.Errorf("%s", told(r))
	}
}

// TestRaceLiveInterrupted is ctrl-C at the keys.
func TestRaceLiveInterrupted(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	step, mark := endless()
	c := w.onColours(pty.Winsize{Rows: 20, Cols: 90}, "race", "--name", "r", "--try", "a="+step, "--try", "b="+step)
	w.until("both run", func() bool { return len(processesWith(mark, "sleep")) == 2 })
	c.expect("running")
	c.press("\x03")
	w.comes(c, 130)
	if r := w.show("r"); runsStill(mark) || r.State != forkbox.RaceCancelled {
		t.Errorf("it runs still: %s", told(r))
	}
	if text := c.text(); !strings.Contains(text, "cancel") {
		t.Errorf("it says nothing about it: %q", text)
	}
}

// TestRaceApplyAsks: what deserves a second look needs a yes.
func TestRaceApplyAsks(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.race("--name", "r", "--try", "a=echo x > f; chmod 4755 f")
	w.refused([]string{"--yes"}, "race", "apply", "r")
	for i, answer := range []string{"n\n", "y\n"} {
		c := w.onColours(pty.Winsize{Rows: 20, Cols: 90}, "race", "apply", "r")
		c.expect("[y/N]")
		c.press(answer)
		w.comes(c, 125*(1-i))
		if landed := w.show("r").Landed; (landed == "a") != (i == 1) || (w.reality("f") == "x") != (i == 1) {
			t.Errorf("after %q landed is %q", answer, landed)
		}
	}
}
