//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestRaceBoxLost: a box that dies under its approach is no fault of that. It
// begins anew, in a new box, and that is not one of its retries.
func TestRaceBoxLost(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	step, mark := endless()
	w.must("race", "-d", "--name", "r", "--try", "a=echo x >> ran; "+step)
	w.until("it runs", func() bool { return runsStill(mark) })
	before := w.entry(w.show("r"), "a").Box
	w.killInit(mark)
	w.until("it runs in another box", func() bool {
		now := w.entry(w.show("r"), "a").Box
		return now != "" && now != before && runsStill(mark)
	})
	r := w.show("r")
	if e := w.entry(r, "a"); e.Attempt != 1 || w.sh(e.Box, "cat ran") != "x" {
		t.Errorf("attempt %d: %s", e.Attempt, told(r))
	}
	if n := len(w.boxes()); n != 1 {
		t.Errorf("there are %d boxes", n)
	}
	w.must("race", "cancel", "r")
	w.nothingRuns(mark)
}

// killInit ends the first process of the box that something marked runs in.
func (w *raceWorld) killInit(mark string) {
	w.Helper()
	found := processesWith(mark, "sleep")
	if len(found) != 1 {
		w.Fatalf("these run: %q", found)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(found[0]), "status"))
	w.ok(err)
	for line := range strings.Lines(string(text)) {
		var pid int
		if n, _ := fmt.Sscanf(line, "PPid: %d", &pid); n == 1 {
			w.ok(syscall.Kill(pid, syscall.SIGKILL))
			return
		}
	}
	w.Fatalf("no parent in %s", text)
}

// TestRaceWaitsForRoom: the host has room for two boxes at a time, and six
// approaches come, are checked, measured and confirmed all the same.
func TestRaceWaitsForRoom(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.ok(os.WriteFile(w.file("config.yaml"), []byte("admission: {running: 2, wait: 0s, pressure: {memory: 100, io: 100}}\n"), 0o644))
	r := w.raceOf(`
setup: [echo s > s]
approaches: [{name: a, run: 'seq $FORKBOX_SEED | wc -l > n', n: 6}]
seed: 100
checks: [test -s n]
metrics: [{name: n, file: n}, {name: t, time: 'true', runs: 2, most: 2}]
`)
	if got := ranking(r); r.Winner != "a-1" || !strings.HasPrefix(got, "a-1 a-2 a-3") {
		t.Errorf("the order is %q: %s", got, told(r))
	}
	for _, e := range r.Entries {
		if e.Outcome != forkbox.OutcomePassed || len(e.Metrics) != 2 || len(e.Metrics[1].Values) != 2 {
			t.Errorf("%s is %s: %+v", e.Name, e.Outcome, e.Metrics)
		}
	}
}

// TestRaceLeaderIsConfirmed: who leads has to pass once more. Where it does not,
// it is flaky, and another wins.
func TestRaceLeaderIsConfirmed(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	_, mark := endless()
	// What was started keeps the box as the check left it, so that the check can
	// count: it fails the second time.
	r := w.raceOf(`
approaches:
  - {name: moody, run: '(setsid sleep ` + mark + ` >/dev/null 2>&1 &); echo 1 > f'}
  - {name: stable, run: 'seq 30 > f; touch stable'}
checks: ['test -e stable && exit; n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; test $n != 1']
`)
	w.is(r, "stable moody", "moody:flaky stable:passed")
	for name, runs := range map[string]int{"moody": 3, "stable": 2} {
		if c := w.entry(r, name).Checks[0]; len(c.Runs) != runs || c.Flaky != (name == "moody") {
			t.Errorf("%s was checked so: %+v", name, c)
		}
	}
	w.nothingRuns(mark)
}
