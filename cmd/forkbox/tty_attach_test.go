//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/term"
)

// A command in the background is joined, typed to, left running with ctrl-P
// ctrl-Q, joined again and ended with ctrl-C; afterwards the terminal is as it
// was.
func TestAttachOnATerminal(t *testing.T) {
	// What read took of a line when its time was up is the beginning of what it
	// takes next.
	const command = `trap 'echo ouch; exit 9' INT; echo go; while :; do read -t 0.1 y; s=$?; x=$x$y; [ $s = 0 ] && { echo "<$x>"; x=; }; done`
	for name, flag := range map[string]string{"with a terminal of its own": "-t", "with lines": "--open"} {
		t.Run(name, func(t *testing.T) {
			d := atDesk(t, nil, "true")
			id := must(t, d.home, "exec", "-d", flag, "try", "--", "bash", "-c", command)
			c := d.forkbox("attach", "--all", "try")
			c.expect("go")
			c.press("one\r")
			c.expect("<one>")
			c.press("\x10\x11")
			c.expect("left exec " + id + " of try running")
			c.ends(0)
			if now, err := term.GetState(int(c.tty.Fd())); err != nil || *now != *c.was {
				t.Errorf("the terminal is not as it was: %v", err)
			}
			if got := must(t, d.home, "execs", "try"); !strings.Contains(got, "running, detached") {
				t.Errorf("it does not run any more:\n%s", got)
			}
			c = d.forkbox("attach", "--all", "try", id)
			c.expect("<one>")
			if flag == "-t" {
				c.press("two\r")
				c.expect("<two>")
			}
			c.press("\x03")
			c.expect("ouch")
			c.ends(9)
		})
	}
}

// Where the host is full a user who waits sees their place, and can give up:
// nothing is left of it.
func TestPlaceInTheQueueOnATerminal(t *testing.T) {
	for name, args := range map[string][]string{
		"run":      {"run", "--name", "second", "--", "true"},
		"exec":     {"exec", "second", "--", "true"},
		"detached": {"exec", "-d", "second", "--", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			config := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(config, []byte("admission: {running: 1, wait: 10m}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("FORKBOX_CONFIG", config)
			d := atDesk(t, nil, "true")
			must(t, d.home, "exec", "-d", "try", "--", "sleep", "1000")
			defer func() { must(t, d.home, "rm", "-f", "try") }()
			if name != "run" {
				must(t, d.home, "new", "--name", "second")
			}
			c := d.forkbox(args...)
			c.expect("waiting: 1st in line; ")
			if got := must(t, d.home, "queue"); !strings.Contains(got, "1") || !strings.Contains(got, "second") {
				t.Errorf("the queue:\n%s", got)
			}
			c.press("\x03")
			c.ends(130)
			d.awaitEmptyQueue()
			if got := must(t, d.home, "ls"); name == "run" && strings.Contains(got, "second") {
				t.Errorf("its box is left:\n%s", got)
			}
		})
	}
}

// top has the screen for itself until q, and gives it back.
func TestTopOnATerminal(t *testing.T) {
	d := atDesk(t, nil, "true")
	c := d.forkbox("top")
	c.expect("\x1b[?1049h")
	c.expect("NAME")
	c.expect("try")
	c.press("q")
	c.ends(0)
	c.expect("\x1b[?1049l")
	if now, err := term.GetState(int(c.tty.Fd())); err != nil || *now != *c.was {
		t.Errorf("the terminal is not as it was: %v", err)
	}
}

// awaitEmptyQueue: the daemon hears of a caller that hung up a moment later.
func (d *desk) awaitEmptyQueue() {
	d.t.Helper()
	for range 200 {
		if !strings.Contains(must(d.t, d.home, "queue", "--json"), "place") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	d.t.Error("somebody still waits")
}
