package race

import (
	"context"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestRemove(t *testing.T) {
	w := newWorld(t, nil)
	rec, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Name: "r", Approaches: approaches("a=hang", "b=x")})
	check(t, err)
	wantCode(t, w.Remove(context.Background(), ada, "r", false), forkbox.Busy)
	check(t, w.Remove(context.Background(), ada, "r", true))
	_, err = w.Get(context.Background(), ada, rec.ID)
	wantCode(t, err, forkbox.NotFound)
	if len(w.host.boxes) > 0 {
		t.Errorf("%d boxes are left", len(w.host.boxes))
	}
	wantCode(t, w.Remove(context.Background(), ada, "r", true), forkbox.NotFound)
}

func TestCancelCanBeRepeated(t *testing.T) {
	w := newWorld(t, map[string]script{"test": exits(0)})
	rec, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Name: "r", Approaches: approaches("a=hang", "b=hang"), Checks: checks("test")})
	check(t, err)
	for range 2 {
		rec, err = w.Cancel(context.Background(), ada, "r")
		if err != nil || rec.State != forkbox.RaceCancelled || rec.Entries[0].Outcome != forkbox.OutcomeCancelled || rec.Ended.IsZero() {
			t.Errorf("%s, %v", summary(rec), err)
		}
		w.host.allStill(t)
	}
	if len(w.host.boxes) == 0 {
		t.Log("none had begun") // those that had stay, to be looked at
	}
	eventually(t, "nothing is done any more", func() bool { return !w.Busy() })
}

// What a user may not see must look as if it did not exist.
func TestPromise8RacesOfOthersAreNotFound(t *testing.T) {
	w := newWorld(t, nil)
	bob := forkbox.Owner{UID: 1001, Name: "bob"}
	rec := w.run(forkbox.RaceSpec{Name: "r", Approaches: approaches("a=x")})
	ctx := context.Background()
	_, getErr := w.Get(ctx, bob, rec.ID)
	_, newestErr := w.Get(ctx, bob, "")
	_, cancelErr := w.Cancel(ctx, bob, rec.ID)
	_, applyErr := w.Apply(ctx, bob, rec.ID, forkbox.RaceApply{})
	_, rerunErr := w.Start(ctx, bob, forkbox.RaceSpec{Approaches: approaches("a=x"), Rerun: rec.ID})
	for _, err := range []error{
		getErr, newestErr, cancelErr, applyErr, rerunErr, w.Remove(ctx, bob, "r", true),
		w.Follow(ctx, bob, "r", nil), w.Log(ctx, bob, "r", "a", false, nil),
	} {
		wantCode(t, err, forkbox.NotFound)
	}
	if list, err := w.List(ctx, bob); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
	// A name is unique for one owner only.
	if _, err := w.Start(ctx, bob, forkbox.RaceSpec{Name: "r", Approaches: approaches("a=x")}); err != nil {
		t.Error(err)
	}
}

func TestRacesAreFound(t *testing.T) {
	w := newWorld(t, nil)
	one := w.run(forkbox.RaceSpec{Name: "fix-one", Approaches: approaches("a=x")})
	two := w.run(forkbox.RaceSpec{Name: "fix-two", Approaches: approaches("a=x")})
	for ref, want := range map[string]string{"": two.ID, "fix-o": one.ID, "fix-two": two.ID, one.ID: one.ID, two.ID[:11]: two.ID} {
		if rec, err := w.Get(context.Background(), ada, ref); err != nil || rec.ID != want {
			t.Errorf("%q: %s, %v", ref, rec.Name, err)
		}
	}
	_, err := w.Get(context.Background(), ada, "fix-")
	wantCode(t, err, forkbox.Ambiguous)
	list, err := w.List(context.Background(), ada)
	if err != nil || len(list) != 2 || list[0].ID != two.ID {
		t.Errorf("%v, %v", list, err)
	}
}

func TestOnlySoManyRun(t *testing.T) {
	w := newWorld(t, nil)
	for range mostRunning {
		_, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Approaches: approaches("a=hang")})
		check(t, err)
	}
	_, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Approaches: approaches("a=hang")})
	wantCode(t, err, forkbox.Busy)
	_, err = w.Start(context.Background(), forkbox.Owner{UID: 7}, forkbox.RaceSpec{Approaches: approaches("a=hang")})
	check(t, err)
}

func TestOldRacesAreForgotten(t *testing.T) {
	w := newWorld(t, nil)
	rec := w.run(forkbox.RaceSpec{Name: "r", Approaches: approaches("a=x")})
	for i := range mostKept + 5 {
		old := rec
		old.ID, old.Name = newID(), newID()
		old.Created = rec.Created.Add(-time.Duration(i+1) * time.Hour)
		check(t, w.ledger.AddRace(context.Background(), old))
	}
	w.prune(ada)
	list, err := w.List(context.Background(), ada)
	if err != nil || len(list) != mostKept || list[0].ID != rec.ID || len(w.host.boxes) != 1 {
		t.Errorf("%d races, %d boxes, %v", len(list), len(w.host.boxes), err)
	}
}
