//go:build linux

package main

import (
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
	if loser.Stale == nil || loser.Stale.Receipt != first.Receipt.ID {
		t.Errorf("the other box is not stale: %+v", loser)
	}
	w.refused([]string{first.Receipt.ID, "undo"}, "race", "apply", "--yes", "fix")
	w.refused([]string{first.Receipt.ID}, "race", "apply", "--yes", "fix", "fine")
	w.must("undo", first.Receipt.ID)
	if w.reality("data") != "old" || w.boxOf("fix-fine").Stale != nil {
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
	if _, _, code := w.cli("race", "--apply", "--yes", "--try", "a=echo a > g", "--check", "false"); code != 1 || w.reality("g") != "" {
		t.Errorf("exit %d, and reality has %q", code, w.reality("g"))
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
	w.sh("other", "echo x > other")
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
	if got := w.sh("other", "cat other"); got != "x" {
		t.Errorf("a bystander has %q", got)
	}
	w.saysAll([]string{"a", "b"}, "race", "show", "r")
	if r := w.show("r"); ranking(r) != "a b" {
		t.Errorf("the record is %s", told(r))
	}
}
