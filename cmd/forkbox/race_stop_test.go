//go:build linux

package main

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/forkbox/forkbox"
)

// endless is a step that never ends, and can be found on the host by what it
// returns.
func endless() (step, mark string) {
	mark = fmt.Sprintf("86400.%d%04d", os.Getpid(), endlessSteps.Add(1))
	return "exec sleep " + mark, mark
}

var endlessSteps atomic.Int32

// runsStill says whether something runs that [endless] made.
func runsStill(mark string) bool { return len(processesWith(mark, "sleep")) > 0 }

func (w *raceWorld) nothingRuns(mark string) {
	w.Helper()
	w.until("nothing runs any more", func() bool { return !runsStill(mark) })
}

// TestRaceFirstPass cancels the rest as soon as one has passed.
func TestRaceFirstPass(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	step, mark := endless()
	r := w.raceOf(`
approaches:
  - {name: never, run: ` + step + `}
  - {name: wrong, run: touch wrong}
  - {name: right, run: touch right}
  - {name: later, run: ` + step + `}
checks: [test -e right]
metrics: [{name: n, run: echo 1}]
stop: first-pass
`)
	if r.Winner != "right" || w.entry(r, "right").Outcome != forkbox.OutcomePassed {
		t.Errorf("%s", told(r))
	}
	for _, name := range []string{"never", "later"} {
		if e := w.entry(r, name); e.Outcome != forkbox.OutcomeCancelled {
			t.Errorf("%s is %s: %s", name, e.Outcome, e.Why)
		}
	}
	if m := w.entry(r, "right").Metrics; len(m) > 0 && len(m[0].Values) > 0 {
		t.Errorf("it was measured: %+v", m)
	}
	w.nothingRuns(mark)
}

// TestRaceDeadline judges those that have ended by then.
func TestRaceDeadline(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	step, mark := endless()
	r := w.raceOf(`
approaches:
  - {name: never, run: ` + step + `}
  - {name: done, run: touch f}
checks: [test -e f]
stop: deadline
deadline: 4s
`)
	w.is(r, "done never", "done:passed never:timed-out")
	w.nothingRuns(mark)
	w.refused([]string{"deadline"}, "race", "--stop", "deadline", "--try", "a=true")
}

// TestRaceTimeouts bounds the steps together, one step, and a check.
func TestRaceTimeouts(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	step, mark := endless()
	r := w.raceOf(`
approaches:
  - {name: all, steps: ["true", ` + step + `]}
  - {name: one, steps: [{run: ` + step + `, timeout: 200ms}]}
  - {name: fine, run: touch f}
checks: [{run: 'test -e f && test ! -e slow || ` + step + `', timeout: 1s, once: true}]
timeout: 2s
`)
	if got := outcomes(r); got != "all:timed-out fine:passed one:timed-out" || r.Winner != "fine" {
		t.Errorf("%s", told(r))
	}
	for _, name := range []string{"all", "one"} {
		if e := w.entry(r, name); e.Why == "" {
			t.Errorf("%s does not say why: %+v", name, e)
		}
	}
	r = w.raceOf(`
approaches: [{name: a, run: touch slow}]
checks: [{run: ` + step + `, timeout: 300ms, once: true}]
`)
	if r.Winner != "" || w.entry(r, "a").Outcome == forkbox.OutcomePassed {
		t.Errorf("a check that takes too long passes: %s", told(r))
	}
	w.nothingRuns(mark)
}

// TestRaceRetries begins an approach anew, in a new box, when a step fails.
func TestRaceRetries(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	r := w.raceOf(`
approaches:
  - {name: bad, steps: ["echo x >> tries", "false"]}
  - {name: good, run: 'echo x >> tries'}
checks: [test "$(wc -l < tries)" = 1]
retries: 2
`)
	w.is(r, "good bad", "bad:broken good:passed")
	if bad, good := w.entry(r, "bad"), w.entry(r, "good"); bad.Attempt != 3 || good.Attempt != 1 {
		t.Errorf("attempts: %d and %d", bad.Attempt, good.Attempt)
	}
	if n := len(w.boxes()); n != 2 {
		t.Errorf("there are %d boxes", n)
	}
	if got := w.sh(w.entry(r, "bad").Box, "wc -l < tries"); got != "1" {
		t.Errorf("the last box saw %s attempts", got)
	}
}
