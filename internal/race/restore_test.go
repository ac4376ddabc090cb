package race

import (
	"context"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// litter is a check that writes.
func litter(files map[string]string, _ int) (int, string) {
	files["coverage"] = "c"
	return 0, ""
}

// However a race ends, what its checks wrote does not land.
func TestCancelledRaceKeepsNothingOfItsChecks(t *testing.T) {
	w := newWorld(t, map[string]script{"good": write("f", "good"), "test": litter})
	rec, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Name: "r", Approaches: approaches("a=good", "b=hang"), Checks: checks("test")})
	check(t, err)
	live := w.running(rec.ID)
	eventually(t, "a has passed", func() bool { return entryOf(t, live.record(), "a").Outcome == forkbox.OutcomePassed })
	rec, err = w.Cancel(context.Background(), ada, "r")
	check(t, err)
	if e := entryOf(t, rec, "a"); e.Unclean || w.host.boxes[e.Box].files["coverage"] != "" {
		t.Errorf("%+v, the box has %v", e, w.host.boxes[e.Box].files)
	}
	_, err = w.apply(forkbox.RaceApply{Approach: "a"})
	if check(t, err); w.host.reality["f"] != "good" || w.host.reality["coverage"] != "" {
		t.Error(w.host.reality)
	}
}

// A box that could not be rolled back is when it is to land, or by the next
// daemon.
func TestBoxThatCouldNotBeRestored(t *testing.T) {
	for _, by := range []string{"landing", "daemon"} {
		t.Run(by, func(t *testing.T) {
			w := newWorld(t, map[string]script{"good": write("f", "good"), "test": litter})
			w.host.refuse["roll back"] = forkbox.Errorf(forkbox.Internal, "roll back", "the disk is blue")
			rec := w.run(forkbox.RaceSpec{Name: "r", Approaches: approaches("a=good"), Checks: checks("test")})
			b := w.host.boxes[rec.Entries[0].Box]
			if b.files["coverage"] == "" || !strings.Contains(strings.Join(rec.Notes, " "), "blue") {
				t.Fatalf("it was restored: %v, %v", b.files, rec.Notes)
			}
			_, err := w.apply(forkbox.RaceApply{})
			wantCode(t, err, forkbox.Internal)
			delete(w.host.refuse, "roll back")
			if by == "daemon" {
				w.restart(nil)
				check(t, w.Resume(context.Background()))
				eventually(t, "nothing is done any more", func() bool { return !w.Busy() })
				if b.files["coverage"] != "" {
					t.Errorf("the box has %v", b.files)
				}
			}
			_, err = w.apply(forkbox.RaceApply{})
			if check(t, err); w.host.reality["coverage"] != "" || len(b.snapshots) != 1 {
				t.Errorf("reality %v, %d snapshots", w.host.reality, len(b.snapshots))
			}
		})
	}
}

// What the owner did in a box after a daemon died there is not thrown away.
func TestRestoringKeepsTheWorkOfOthers(t *testing.T) {
	w, rec := landWorld(t)
	good := entryOf(t, rec, "good")
	for i := range rec.Entries {
		rec.Entries[i].Unclean = rec.Entries[i].Name == "good"
	}
	check(t, w.ledger.UpdateRace(context.Background(), rec))
	b := w.host.boxes[good.Box]
	b.files["work"] = "mine"
	b.execs = append(b.execs, &fakeExec{Exec: forkbox.Exec{ID: "mine", Started: rec.Ended, Exit: &forkbox.Exit{}}})
	w.restart(nil)
	check(t, w.Resume(context.Background()))
	eventually(t, "nothing is done any more", func() bool { return !w.Busy() })
	if b.files["work"] != "mine" {
		t.Fatalf("the box has %v", b.files)
	}
	_, err := w.apply(forkbox.RaceApply{})
	if check(t, err); w.host.reality["work"] != "" || w.host.reality["f"] != "good" {
		t.Error(w.host.reality)
	}
	kept := false
	for _, files := range b.snapshots {
		kept = kept || files["work"] == "mine"
	}
	if !kept {
		t.Error("the work is gone")
	}
}

// TestPromiseALandingSurvivesADeadDaemon: whichever call is the last of a daemon
// that lands an approach of which reality has changed paths, what the next one
// lands was checked, once, and nothing is left over.
func TestPromiseALandingSurvivesADeadDaemon(t *testing.T) {
	for _, after := range []bool{false, true} {
		for _, resumes := range []bool{false, true} {
			for at := 1; !landingDiesAt(t, at, after, resumes); at++ {
			}
		}
	}
}

func landingDiesAt(t *testing.T, at int, after, resumes bool) (whole bool) {
	w, rec := landWorld(t)
	id := entryOf(t, rec, "good").Box
	f := newFuse(at, after)
	w.restart(f)
	w.host.drift = []forkbox.Drift{{Path: "/w/other"}}
	_, err := w.apply(forkbox.RaceApply{})
	whole = err == nil && !f.isBlown()
	w.restart(nil)
	b := w.host.boxes[id]
	if landed, err := w.ledger.ReceiptsOf(context.Background(), id); err != nil || len(landed) > 0 {
		if b.files["coverage"] != "" || w.host.reality["synced"] != "yes" || w.host.reality["coverage"] != "" {
			t.Fatalf("call %d: reality %v, the box %v, %v", at, w.host.reality, b.files, err)
		}
		return whole
	}
	if resumes {
		check(t, w.Resume(context.Background()))
		eventually(t, "nothing is done any more", func() bool { return !w.Busy() })
		if b.files["coverage"] != "" {
			t.Fatalf("call %d: the box has %v", at, b.files)
		}
	}
	// Reality is bad now. A check that a daemon died in must not count.
	w.host.scripts["test"] = exits(1)
	w.host.drift = []forkbox.Drift{{Path: "/w/other"}}
	_, err = w.apply(forkbox.RaceApply{})
	wantCode(t, err, forkbox.Conflict)
	w.host.scripts["test"] = litter
	w.host.drift = []forkbox.Drift{{Path: "/w/other"}}
	_, err = w.apply(forkbox.RaceApply{})
	if check(t, err); w.host.reality["synced"] != "yes" || w.host.reality["coverage"] != "" || len(b.snapshots) != 1 {
		t.Fatalf("call %d: reality %v, %d snapshots", at, w.host.reality, len(b.snapshots))
	}
	return whole
}

// A snapshot that its owner made is never taken for the race's own, whatever it
// is called.
func TestSnapshotsOfTheOwner(t *testing.T) {
	w := newWorld(t, nil)
	half := func(names ...string) script {
		return func(files map[string]string, _ int) (int, string) {
			files["f"] = "half"
			b := w.host.boxes[files["box"]]
			for _, name := range names {
				w.host.made++
				s := forkbox.Snapshot{ID: "owner-" + name + b.ID, Box: b.ID, Name: name, Owner: ada}
				if err := w.ledger.AddSnapshot(context.Background(), s, b.Box); err != nil {
					t.Error(err)
				}
				b.snapshots[s.ID] = map[string]string{"f": "half"}
			}
			files["f"] = "whole"
			return 0, ""
		}
	}
	w.host.scripts = map[string]script{"prepare": half("point"), "go": half("steps"), "test": has("f", "whole")}
	rec := w.run(forkbox.RaceSpec{
		Name: "r", Setup: []forkbox.Command{{Run: "prepare"}}, Approaches: approaches("a=go", "b=x"), Checks: checks("test"),
	})
	if a, b := entryOf(t, rec, "a"), entryOf(t, rec, "b"); a.Outcome != forkbox.OutcomePassed || b.Outcome != forkbox.OutcomePassed {
		t.Fatalf("%s: it begins at half a setup", summary(rec))
	}
	_, err := w.apply(forkbox.RaceApply{Approach: "a"})
	if check(t, err); w.host.reality["f"] != "whole" {
		t.Error(w.host.reality)
	}
}

// Not even one that has exactly the name that the race would choose.
func TestSnapshotWithTheNameOfTheRaces(t *testing.T) {
	w := newWorld(t, map[string]script{"test": has("f", "whole")})
	w.host.scripts["go"] = func(files map[string]string, _ int) (int, string) {
		b := w.host.boxes[files["box"]]
		s := forkbox.Snapshot{ID: "owners", Box: b.ID, Name: stepsName(b.Race), Message: stepsMessage("a"), Owner: ada}
		if err := w.ledger.AddSnapshot(context.Background(), s, b.Box); err != nil {
			t.Error(err)
		}
		b.snapshots[s.ID] = map[string]string{"f": "half"}
		files["f"] = "whole"
		return 0, ""
	}
	rec := w.run(forkbox.RaceSpec{Name: "r", Approaches: approaches("a=go"), Checks: checks("test")})
	if rec.Winner != "a" || rec.Entries[0].Saved == "owners" {
		t.Fatalf("%s: %+v", summary(rec), rec.Entries)
	}
	_, err := w.apply(forkbox.RaceApply{})
	if check(t, err); w.host.reality["f"] != "whole" {
		t.Error(w.host.reality)
	}
}

// After a crash, too, only what the race itself has saved is found again.
func TestSnapshotOfTheOwnerAfterACrash(t *testing.T) {
	w, rec := landWorld(t)
	good := entryOf(t, rec, "good")
	run := w.newRace(rec)
	defer run.endContexts()
	b := run.newLane(run.indexOf("good"), 1, w.host.boxes[good.Box].Box)
	b.known = map[string]forkbox.Exec{}
	s, err := b.findOrMakeSnapshot(context.Background(), stepsName(rec.ID), stepsMessage("good"))
	if check(t, err); s.ID != good.Saved {
		t.Errorf("found %+v, saved was %s", s, good.Saved)
	}
	check(t, w.ledger.DeleteSnapshot(context.Background(), good.Saved))
	for _, name := range []string{"steps", stepsName(rec.ID)} {
		check(t, w.ledger.AddSnapshot(context.Background(), forkbox.Snapshot{ID: "owners-" + name, Box: good.Box, Name: name, Owner: ada}, b.box))
	}
	if s, err = b.findOrMakeSnapshot(context.Background(), stepsName(rec.ID), stepsMessage("good")); err != nil || strings.HasPrefix(s.ID, "owners") {
		t.Errorf("took %+v for its own, %v", s, err)
	}
}
