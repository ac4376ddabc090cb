//go:build linux

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestRaceApply lands the winner, undo takes it back, and it lands once.
func TestRaceApply(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.write("data", "old\n")
	file := w.raceFile(`
name: fix
approaches:
  - {name: good, run: echo good > data}
  - {name: fine, run: 'echo fine > data; seq 9 > more'}
checks: ["true"]
`)
	w.race("-f", file)
	if w.reality("data") != "old" {
		t.Fatal("a race writes to reality")
	}
	first := w.lands("fix")
	if first.Approach != "good" || w.reality("data") != "good" || w.show("fix").Landed != "good" {
		t.Errorf("landed: %+v, reality %q", first, w.reality("data"))
	}
	loser := w.boxOf("fix-fine")
	if loser.Stale == "" || loser.StaleBy != first.Receipt.ID {
		t.Errorf("the other box is not stale: %+v", loser)
	}
	w.refused([]string{first.Receipt.ID, "undo"}, "race", "apply", "--yes", "fix")
	w.refused([]string{first.Receipt.ID}, "race", "apply", "--yes", "fix", "fine")
	w.must("undo", first.Receipt.ID)
	if w.reality("data") != "old" || w.boxOf("fix-fine").Stale != "" {
		t.Errorf("after the undo reality has %q, and the other box is %+v", w.reality("data"), w.boxOf("fix-fine"))
	}
	// After an undo it can land again: also another.
	second := w.lands("fix", "fine")
	if second.Approach != "fine" || w.reality("data") != "fine" || w.reality("more") == "" {
		t.Errorf("landed: %+v", second)
	}
	w.must("undo", second.Receipt.ID)
	w.refused([]string{"nobody"}, "race", "apply", "--yes", "fix", "nobody")
}

// lands applies with --json.
func (w *raceWorld) lands(args ...string) (l forkbox.RaceLanding) {
	w.Helper()
	w.reads(&l, append([]string{"race", "apply", "--yes"}, args...)...)
	if l.Receipt.State != forkbox.Applied {
		w.Errorf("its receipt is %+v", l.Receipt)
	}
	return l
}

// TestRaceAppliesItself is --apply: the race, and then the winner lands.
func TestRaceAppliesItself(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.must("race", "--apply", "--yes", "--try", "a=echo a > f", "--try", "b=seq 4 > f", "--check", "grep -q 4 f")
	if got := w.reality("f"); got != "1\n2\n3\n4" {
		t.Errorf("landed: %q", got)
	}
	if _, _, code := w.try("race", "--apply", "--yes", "--try", "a=echo a > g", "--check", "false"); code != 1 || w.reality("g") != "" {
		t.Errorf("exit %d, and reality has %q", code, w.reality("g"))
	}
}

// drifting is a race whose check depends on what reality says.
func (w *raceWorld) drifting() {
	w.Helper()
	w.write("data", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	w.write("status", "calm\n")
	r := w.raceOf(`
name: fix
approaches:
  - {name: good, run: sed -i s/^9/nine/ data}
checks: ['! grep -q broken status; rc=$?; echo x > litter; exit $rc']
`)
	w.is(r, "good", "good:passed")
}

// TestRaceApplyAfterDrift: reality went on. The approach is brought up to date
// and checked again, and what reality did stays.
func TestRaceApplyAfterDrift(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.drifting()
	w.write("status", "quiet\n")
	w.write("new", "of reality\n")
	l := w.lands("fix")
	if l.Synced == nil || len(l.Checked) != 1 || !l.Checked[0].Passed {
		t.Errorf("it was not checked again: %+v", l)
	}
	if !strings.HasSuffix(w.reality("data"), "nine") || w.reality("status") != "quiet" || w.reality("new") != "of reality" {
		t.Errorf("reality has %q, %q, %q", w.reality("data"), w.reality("status"), w.reality("new"))
	}
	expectFiles(t, w.ws, "data", "new", "status")
	w.must("undo", l.Receipt.ID)
	if !strings.HasSuffix(w.reality("data"), "9") || w.reality("status") != "quiet" {
		t.Errorf("after the undo reality has %q, %q", w.reality("data"), w.reality("status"))
	}
}

// TestRaceApplyChecksAgain: with what reality did meanwhile the check fails.
// Nothing lands.
func TestRaceApplyChecksAgain(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.drifting()
	w.write("status", "broken\n")
	w.refused([]string{"check"}, "race", "apply", "--yes", "fix")
	w.nothingLanded("broken")
	w.write("status", "well again\n")
	w.lands("fix")
	if !strings.HasSuffix(w.reality("data"), "nine") {
		t.Errorf("reality has %q", w.reality("data"))
	}
}

func (w *raceWorld) nothingLanded(status string) {
	w.Helper()
	if !strings.HasSuffix(w.reality("data"), "9") || w.reality("status") != status || w.show("fix").Landed != "" {
		w.Errorf("something landed: %q, %q, %+v", w.reality("data"), w.reality("status"), w.show("fix").Landed)
	}
	var list struct{ Receipts []forkbox.Receipt }
	w.reads(&list, "receipts")
	for _, r := range list.Receipts {
		if r.State != forkbox.Undone {
			w.Errorf("there is a receipt: %+v", r)
		}
	}
	expectFiles(w.T, w.ws, "data", "status")
}

// TestRaceApplyConflict: both changed the same line. Nothing lands, and nothing
// is lost.
func TestRaceApplyConflict(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.drifting()
	w.write("data", "1\n2\n3\n4\n5\n6\n7\n8\nneuf\n")
	_, said, code := w.try("race", "apply", "--yes", "--json", "fix")
	var report struct{ Error *forkbox.Error }
	if err := json.Unmarshal([]byte(said), &report); err != nil || report.Error == nil || report.Error.Code != forkbox.Conflict || code != 125 {
		t.Errorf("exit %d: %v %s", code, err, said)
	}
	if !strings.HasSuffix(w.reality("data"), "neuf") || w.show("fix").Landed != "" {
		t.Errorf("something landed: %q", w.reality("data"))
	}
	if got := w.in("fix-good", "tail -1 data"); got != "nine" {
		t.Errorf("the box has %q", got)
	}
}

// TestRaceAppliesTwiceAtOnce: one of them lands.
func TestRaceAppliesTwiceAtOnce(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.race("--name", "r", "--try", "a=echo a >> f", "--try", "b=seq 7 >> f")
	codes := make(chan int, 4)
	for i := range 4 {
		cmd := w.command("race", "apply", "--yes", "r", []string{"a", "b"}[i%2])
		w.ok(cmd.Start())
		go func() { codes <- exitCode(cmd.Wait()) }()
	}
	seen := map[int]int{}
	for range 4 {
		seen[<-codes]++
	}
	if seen[0] != 1 || seen[125] != 3 {
		t.Errorf("exits: %v", seen)
	}
	if r := w.show("r"); r.Landed == "a" && w.reality("f") != "a" || r.Landed == "b" && w.reality("f") == "a" || r.Landed == "" {
		t.Errorf("landed is %q, and reality has %q", r.Landed, w.reality("f"))
	}
}

// TestRaceLosersAreCollected when another has landed, after a while, and not
// before.
func TestRaceLosersAreCollected(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t, "FORKBOX_RETENTION=lost=1s,unreviewed=never")
	w.race("--name", "r", "--try", "a=echo a > f", "--try", "b=seq 7 > f")
	w.must("new", "--name", "other")
	w.in("other", "echo x > other")
	if out := w.must("gc", "--json"); strings.Contains(out, "r-b") {
		t.Errorf("it goes before anything landed: %s", out)
	}
	w.lands("r", "a")
	w.until("the loser is collected", func() bool {
		w.must("gc")
		for _, b := range w.boxes() {
			if b.Name == "r-b" {
				return false
			}
		}
		return true
	})
	if got := w.in("other", "cat other"); got != "x" {
		t.Errorf("a bystander has %q", got)
	}
	w.saysAll([]string{"a", "b"}, "race", "show", "r")
	if r := w.show("r"); ranking(r) != "a b" {
		t.Errorf("the record is %s", told(r))
	}
}
