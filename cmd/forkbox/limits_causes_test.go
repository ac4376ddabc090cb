//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestLimitsCauseEverywhere looks for the cause of a death wherever people and
// programs look.
func TestLimitsCauseEverywhere(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.needs(forkbox.Memory, forkbox.Swap)
	w.must("new", "--name", "hog", "--memory", "64m", "--swap", "0")
	argv := append([]string{"exec", "hog", "--"}, hogArgv(w.self, "memory", "256m")...)
	out, said, code := w.cli(argv...)
	if code != 137 {
		t.Errorf("exec ends with %d: %s%s", code, out, said)
	}
	const words = "memory limit of 64m"
	if !strings.Contains(said, words) {
		t.Errorf("exec does not say why: %q", said)
	}
	_, note, code := w.cli("logs", "hog")
	if code != 0 {
		t.Errorf("logs ends with %d: %s", code, note)
	}
	for verb, text := range map[string]string{
		"logs": note, "show": w.must("show", "hog"), "execs": w.must("execs", "hog"), "events": w.must("events", "hog"),
	} {
		if !strings.Contains(text, words) {
			t.Errorf("%s does not say why: %q", verb, text)
		}
	}
	if list := w.must("ls"); !strings.Contains(list, string(forkbox.CauseOOM)) {
		t.Errorf("ls does not say why: %q", list)
	}
	w.causeInJSON("hog", forkbox.CauseOOM)
}

// causeInJSON finds the cause of the last exec's death in what programs read.
func (w *limitWorld) causeInJSON(box string, cause forkbox.Cause) {
	w.Helper()
	var shown, listed struct{ Execs []forkbox.Exec }
	var logged struct{ Exec forkbox.Exec }
	w.reads(&shown, "show", box)
	w.reads(&listed, "execs", box)
	w.reads(&logged, "logs", box)
	for verb, execs := range map[string][]forkbox.Exec{"show": shown.Execs, "execs": listed.Execs, "logs": {logged.Exec}} {
		if len(execs) == 0 || execs[len(execs)-1].Exit == nil {
			w.Errorf("%s --json has no exit: %+v", verb, execs)
			continue
		}
		if e := execs[len(execs)-1].Exit; e.Cause != cause || e.Limit == 0 || e.Peak == 0 {
			w.Errorf("%s --json does not say %s with limit and peak: %+v", verb, cause, *e)
		}
	}
}

// TestRunSaysWhy has the first thing that a newcomer types die at its
// limit.
func TestRunSaysWhy(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.needs(forkbox.Memory, forkbox.Swap)
	argv := append([]string{"run", "--discard", "--memory", "64m", "--swap", "0", "--"}, hogArgv(w.self, "memory", "256m")...)
	_, said, code := w.cli(argv...)
	if code != 137 || !strings.Contains(said, "memory limit of 64m") {
		t.Errorf("it ends with %d and says %q", code, said)
	}
}
