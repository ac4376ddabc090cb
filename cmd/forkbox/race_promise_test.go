//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestPromise1RaceIsReadOnly: whatever approaches, setups, checks and metrics
// do, reality is as it was, to the inode, until one is applied.
func TestPromise1RaceIsReadOnly(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	newGrower(w.ws, 7).sprout(30)
	before, err := look(w.ws)
	w.ok(err)
	w.raceOf(`
name: wild
setup: [touch of-setup, 'chmod -R a+rwX . || true']
approaches:
  - {name: rm, run: 'rm -rf ./* ./.[!.]* || true'}
  - {name: write, run: 'find . -type f -exec sh -c ''echo x >> "$1"'' sh {} \; || true'}
  - {name: mv, run: 'mkdir in && mv * in || true'}
checks: [touch of-check, 'rm -rf * || true']
metrics: [{name: n, run: 'touch of-metric; echo 1'}, {name: t, time: touch of-time, runs: 2}]
`)
	after, err := look(w.ws)
	w.ok(err)
	if diff := restored(after, before); diff != "" {
		t.Errorf("reality has changed:\n%.3000s", diff)
	}
	w.must("race", "rm", "wild")
	if after, _ = look(w.ws); restored(after, before) != "" {
		t.Error("its removal has changed reality")
	}
}

// TestPromise6RaceLeavesNothing: when races are removed, whatever they were
// doing, nothing of them is left: no box, process, mount, cgroup, directory.
func TestPromise6RaceLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	step, mark := endless()
	w.must("race", "-d", "--name", "busy", "--setup", "touch s", "--try", "a=setsid "+strings.TrimPrefix(step, "exec ")+" & "+step, "--try", "b="+step)
	w.race("--name", "done", "--setup", "touch s", "--try", "a=(setsid "+strings.TrimPrefix(step, "exec ")+" >/dev/null 2>&1 &)", "--try", "b=touch f", "--check", "true", "--time", "true")
	w.raceOf("name: again\napproaches: [{name: a, run: 'false'}]\nretries: 3\n")
	w.must("race", "-d", "--name", "stopped", "--try", "a="+step)
	w.must("race", "cancel", "stopped")
	w.until("the busy one runs", func() bool { return len(processesWith(mark, "sleep")) >= 3 })
	w.kill()
	for _, name := range []string{"busy", "done", "again", "stopped"} {
		w.must("race", "rm", "--force", name)
	}
	w.nothingRuns(mark)
	if boxes := w.boxes(); len(boxes) != 0 {
		t.Errorf("boxes are left: %+v", boxes)
	}
	var family forkbox.Family
	w.reads(&family, "tree")
	if len(family.Snapshots) != 0 {
		t.Errorf("snapshots are left: %+v", family.Snapshots)
	}
	w.swept("boxes", "layers", "trash", "races")
	w.stop()
	nothingLeft(t, w.home, "after the races were removed")
	l := &limitWorld{served: served{world: w.world}}
	l.noGroups("after the races were removed")
}

// TestRaceOfAHundred has a hundred approaches.
func TestRaceOfAHundred(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	r := w.race("--name", "hundred", "--n", "100", "--try", "a=echo $FORKBOX_SEED > f", "--check", "test -s f")
	passed := 0
	for _, e := range r.Entries {
		if e.Outcome == forkbox.OutcomePassed && e.Rank == 1 {
			passed++
		}
	}
	if passed != 100 || len(r.Entries) != 100 || r.Winner != "a-1" {
		t.Errorf("%d passed: %s", passed, told(r))
	}
	out, said, code := w.cli("race", "show", "hundred")
	if code != 0 || !strings.Contains(out, "a-100") {
		t.Errorf("exit %d: %.2000s%.1000s", code, out, said)
	}
	w.must("race", "rm", "hundred")
	if n := len(w.boxes()); n != 0 {
		t.Errorf("%d boxes are left", n)
	}
}
