package race

import (
	"context"
	"testing"

	"github.com/forkbox/forkbox"
)

// What checks passed lands, and nothing that its owner did in the box since.
func TestBoxThatWasChangedSinceItWasJudged(t *testing.T) {
	w, rec := landWorld(t)
	good := entryOf(t, rec, "good")
	b := w.host.boxes[good.Box]
	b.files["f"] = "evil"
	for _, spec := range []forkbox.RaceApply{{}, {Unjudged: true, ApplySpec: forkbox.ApplySpec{Yes: true}}, {ApplySpec: forkbox.ApplySpec{DryRun: true}}} {
		_, err := w.apply(spec)
		wantCode(t, err, forkbox.Unconfirmed)
	}
	if len(w.host.reality) > 0 || b.files["f"] != "evil" {
		t.Errorf("reality %v, the box %v", w.host.reality, b.files)
	}
	_, err := fakeBoxes{host: w.host}.Rollback(context.Background(), ada, good.Box, forkbox.RollbackSpec{To: good.Saved})
	check(t, err)
	_, err = w.apply(forkbox.RaceApply{})
	check(t, err)
	if w.host.reality["f"] != "good" {
		t.Error(w.host.reality)
	}
}

// One who has passed more often than not may have won: that is enough.
func TestFlakyWinnerLands(t *testing.T) {
	w := newWorld(t, map[string]script{"good": write("f", "good"), "test": func(_ map[string]string, n int) (int, string) {
		if n == 0 {
			return 1, ""
		}
		return 0, ""
	}})
	rec := w.run(forkbox.RaceSpec{Name: "r", Approaches: approaches("good=good"), Checks: checks("test")})
	if e := entryOf(t, rec, "good"); e.Outcome != forkbox.OutcomeFlaky || rec.Winner != "good" {
		t.Fatal(summary(rec))
	}
	_, err := w.apply(forkbox.RaceApply{})
	check(t, err)
}

// A choice between two versions is nothing that checks have passed.
func TestLandingWithAChoiceOfVersions(t *testing.T) {
	w, _ := landWorld(t)
	w.host.drift = []forkbox.Drift{{Path: "/w/f", Both: true, Outcome: "conflict"}}
	spec := forkbox.RaceApply{ApplySpec: forkbox.ApplySpec{Conflict: forkbox.Theirs}}
	_, err := w.apply(spec)
	wantCode(t, err, forkbox.Unsupported)
	// Where there is nothing to choose, it does not decide what comes up later.
	w.host.drift = nil
	_, err = w.apply(spec)
	check(t, err)
	if w.host.choice != forkbox.Refuse {
		t.Errorf("it lands with %q", w.host.choice)
	}
}

func TestDryRunTellsOfDrift(t *testing.T) {
	w, rec := landWorld(t)
	dry := forkbox.RaceApply{ApplySpec: forkbox.ApplySpec{DryRun: true}}
	l, err := w.apply(dry)
	if check(t, err); l.Drifted {
		t.Errorf("%+v", l)
	}
	w.host.drift = []forkbox.Drift{{Path: "/w/other"}}
	if l, err = w.apply(dry); err != nil || !l.Drifted || l.Receipt.ID != "" {
		t.Errorf("%+v, %v", l, err)
	}
	if b := w.host.boxes[entryOf(t, rec, "good").Box]; b.files["synced"] != "" || len(w.host.reality) > 0 {
		t.Errorf("reality %v, the box %v", w.host.reality, b.files)
	}
}

func TestNoRaceIsMeantByNoName(t *testing.T) {
	w, _ := landWorld(t)
	_, err := w.Apply(context.Background(), ada, "", forkbox.RaceApply{})
	wantCode(t, err, forkbox.Invalid)
	_, err = w.Cancel(context.Background(), ada, "")
	wantCode(t, err, forkbox.Invalid)
	wantCode(t, w.Remove(context.Background(), ada, "", true), forkbox.Invalid)
	if _, err = w.Get(context.Background(), ada, ""); err != nil {
		t.Error(err)
	}
}

// driftsWhileChecked has reality change during the next n checks of a landing.
func (w *world) driftsWhileChecked(n int) {
	test := w.host.scripts["test"]
	w.host.drift = []forkbox.Drift{{Path: "/w/other"}}
	w.host.scripts["test"] = func(files map[string]string, i int) (int, string) {
		if n--; n >= 0 {
			w.host.drift = []forkbox.Drift{{Path: "/w/other"}}
		}
		return test(files, i)
	}
}

// Reality that changes while it is checked again has not been checked.
func TestDriftDuringTheCheck(t *testing.T) {
	w, rec := landWorld(t)
	w.driftsWhileChecked(1)
	before := count(w.host.log, "good: test")
	l, err := w.apply(forkbox.RaceApply{})
	check(t, err)
	if n := count(w.host.log, "good: test") - before; n != 2 || len(l.Checked) != 1 || w.host.reality["coverage"] != "" {
		t.Errorf("%d checks, %+v, reality %v", n, l, w.host.reality)
	}
	if n := len(w.host.boxes[entryOf(t, rec, "good").Box].snapshots); n != 1 {
		t.Errorf("%d snapshots are left", n)
	}
}

func TestRealityThatKeepsChanging(t *testing.T) {
	w, rec := landWorld(t)
	w.driftsWhileChecked(100)
	_, err := w.apply(forkbox.RaceApply{})
	wantCode(t, err, forkbox.Conflict)
	b := w.host.boxes[entryOf(t, rec, "good").Box]
	if len(w.host.reality) > 0 || b.files["coverage"] != "" || len(b.snapshots) != 1 {
		t.Errorf("reality %v, the box %v, %d snapshots", w.host.reality, b.files, len(b.snapshots))
	}
}

// Nor has what reality changes right before the landing.
func TestDriftRightBeforeTheLanding(t *testing.T) {
	w, _ := landWorld(t)
	w.host.moved = 1
	l, err := w.apply(forkbox.RaceApply{})
	if check(t, err); l.Synced == nil || len(l.Checked) != 1 {
		t.Errorf("%+v", l)
	}
}

// What was brought up to date, checked and landed can land again after an undo;
// so can what needs a yes first.
func TestWhatWasUpdatedIsJudged(t *testing.T) {
	w, _ := landWorld(t)
	w.host.drift = []forkbox.Drift{{Path: "/w/other"}}
	w.host.refuse["land"] = forkbox.Errorf(forkbox.Unconfirmed, "apply", "look twice")
	_, err := w.apply(forkbox.RaceApply{})
	wantCode(t, err, forkbox.Unconfirmed)
	delete(w.host.refuse, "land")
	for range 2 {
		l, err := w.apply(forkbox.RaceApply{})
		if check(t, err); l.Synced != nil || w.host.reality["synced"] != "yes" || w.host.reality["coverage"] != "" {
			t.Errorf("%+v, reality %v", l, w.host.reality)
		}
		check(t, w.host.undo(l.Receipt.ID))
	}
}

// A race that nothing judges has nothing to go back to but what it is.
func TestDriftOfWhatNothingJudged(t *testing.T) {
	for _, outcome := range []string{"clean", "conflict"} {
		w := newWorld(t, map[string]script{"good": write("f", "good")})
		rec := w.run(forkbox.RaceSpec{Name: "r", Approaches: approaches("good=good")})
		eventually(t, "nothing is done any more", func() bool { return !w.Busy() })
		w.host.drift = []forkbox.Drift{{Path: "/w/f", Both: true, Outcome: outcome}}
		_, err := w.apply(forkbox.RaceApply{})
		b := w.host.boxes[rec.Entries[0].Box]
		if outcome == "clean" {
			if check(t, err); w.host.reality["synced"] != "yes" {
				t.Error(w.host.reality)
			}
			continue
		}
		wantCode(t, err, forkbox.Conflict)
		if b.files["conflict"] != "" || b.files["f"] != "good" || len(w.host.reality) > 0 {
			t.Errorf("reality %v, the box %v", w.host.reality, b.files)
		}
	}
}

// The commands of a landing are run as those of a race are. What that notes of
// its approaches must not replace what the landing has written.
func TestChecksOfALandingRecordNothing(t *testing.T) {
	w, rec := landWorld(t)
	l, err := w.newLanding(context.Background(), ada, rec.ID, forkbox.RaceApply{})
	check(t, err)
	check(t, l.recordUpdate(context.Background()))
	l.lane.edit(l.lane.i, func(e *forkbox.Entry) { e.Why = "older" })
	check(t, l.lane.keepNow())
	now, err := w.find(context.Background(), ada, rec.ID)
	check(t, err)
	for _, e := range now.Entries {
		if e.Unclean != (e.Name == "good") || e.Why == "older" {
			t.Errorf("%+v", e)
		}
	}
}

// Nor does bringing it up to date make what its owner did in the box something
// that was judged.
func TestChangedBoxIsNotUpdated(t *testing.T) {
	w, rec := landWorld(t)
	b := w.host.boxes[entryOf(t, rec, "good").Box]
	b.files["extra"] = "evil"
	w.host.drift = []forkbox.Drift{{Path: "/w/other"}}
	_, err := w.apply(forkbox.RaceApply{})
	wantCode(t, err, forkbox.Unconfirmed)
	if len(w.host.reality) > 0 || b.files["synced"] != "" {
		t.Errorf("reality %v, the box %v", w.host.reality, b.files)
	}
}
