//go:build linux

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

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

// TestRaceAppliesAtOnceAfterDrift: boxes come to rest a moment after the end of
// their race, but not under a landing that runs the checks again by then.
func TestRaceAppliesAtOnceAfterDrift(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.write("status", "as it was\n")
	cmd, said := w.background("race", "--name", "r", "--apply", "--yes", "--try", "a=touch here; "+awaits("go")+"; rm go", "--check", "sleep 0.5; test -e here")
	w.awaitFile("r-a", "here")
	w.write("status", "quiet\n")
	w.letGo("r-a")
	if err := cmd.Wait(); err != nil || !hasFile(w.ws+"/here") {
		t.Errorf("%v\n%s", err, said())
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
	_, said, code := w.cli("race", "apply", "--yes", "--json", "fix")
	var report struct{ Error *forkbox.Error }
	if err := json.Unmarshal([]byte(said), &report); err != nil || report.Error == nil || report.Error.Code != forkbox.Conflict || code != 125 {
		t.Errorf("exit %d: %v %s", code, err, said)
	}
	if !strings.HasSuffix(w.reality("data"), "neuf") || w.show("fix").Landed != "" {
		t.Errorf("something landed: %q", w.reality("data"))
	}
	if got := w.sh("fix-good", "tail -1 data"); got != "nine" {
		t.Errorf("the box has %q", got)
	}
}

func hasFile(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
