//go:build linux

package main

import (
	"strings"
	"testing"
)

// A command in the background is joined, typed to, left running with ctrl-P
// ctrl-Q, joined again and ended with ctrl-C; afterwards the terminal is as it
// was.
func TestAttachOnATerminal(t *testing.T) {
	t.Parallel()
	const command = `trap 'echo ouch; exit 9' INT; echo go; while read x; do echo "<$x>"; done`
	for name, flag := range map[string]string{"with a terminal of its own": "-t", "with lines": "--open"} {
		t.Run(name, func(t *testing.T) {
			d := atDesk(t, nil, "true")
			id := d.must("exec", "-d", flag, "try", "--", "bash", "-c", command)
			c := d.forkbox("attach", "--all", "try")
			c.expect("go")
			c.press("one\r")
			c.expect("<one>")
			c.press("\x10\x11")
			c.expect("left exec " + id + " of try running")
			c.ends(0)
			c.isRestored()
			if got := d.must("execs", "try"); !strings.Contains(got, "running, detached") {
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
	t.Parallel()
	for name, args := range map[string][]string{
		"run":      {"run", "--name", "second", "--", "true"},
		"exec":     {"exec", "second", "--", "true"},
		"detached": {"exec", "-d", "second", "--", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.configure("admission: {running: 1, wait: 10m}\n")
			d.begin("true")
			d.must("exec", "-d", "try", "--", "sleep", "1000")
			defer func() { d.must("rm", "-f", "try") }()
			if name != "run" {
				d.must("new", "--name", "second")
			}
			c := d.forkbox(args...)
			c.expect("waiting: 1st in line; ")
			if got := d.must("queue"); !strings.Contains(got, "1") || !strings.Contains(got, "second") {
				t.Errorf("the queue:\n%s", got)
			}
			c.press("\x03")
			c.ends(130)
			d.awaitEmptyQueue()
			if got := d.must("ls"); name == "run" && strings.Contains(got, "second") {
				t.Errorf("its box is left:\n%s", got)
			}
		})
	}
}

// top has the screen for itself until q, and gives it back.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	d := atDesk(t, nil, "true")
	c := d.forkbox("top")
	c.expect("\x1b[?1049h")
	c.expect("NAME")
	c.expect("try")
	c.press("q")
	c.ends(0)
	c.expect("\x1b[?1049l")
	c.isRestored()
}

// awaitEmptyQueue: the daemon hears of a caller that hung up a moment later.
func (d *desk) awaitEmptyQueue() {
	d.Helper()
	d.until("nobody waits", func() bool { return !strings.Contains(d.must("queue", "--json"), "place") })
}
