package race

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
)

// landWorld has a race that is over: good won, bad failed.
func landWorld(t *testing.T) (*world, forkbox.Race) {
	w := newWorld(t, map[string]script{
		"good": write("f", "good"), "bad": write("f", "bad"),
		"test": func(files map[string]string, _ int) (int, string) {
			files["coverage"] = "c"
			if files["f"] != "good" || files["poison"] != "" {
				return 1, ""
			}
			return 0, ""
		},
	})
	rec := w.run(forkbox.RaceSpec{Name: "r", Approaches: approaches("bad=bad", "good=good"), Checks: checks("test")})
	if rec.Winner != "good" {
		t.Fatal(summary(rec))
	}
	eventually(t, "nothing is done any more", func() bool { return !w.Busy() })
	return w, rec
}

func (w *world) apply(spec forkbox.RaceApply) (forkbox.RaceLanding, error) {
	return w.Apply(context.Background(), ada, "r", spec)
}

func TestTheWinnerLandsOnce(t *testing.T) {
	w, rec := landWorld(t)
	l, err := w.apply(forkbox.RaceApply{})
	check(t, err)
	if l.Approach != "good" || w.host.reality["f"] != "good" || w.host.reality["coverage"] != "" || l.Synced != nil || l.Receipt.Message == "" {
		t.Errorf("%+v, reality %v", l, w.host.reality)
	}
	now, err := w.Get(context.Background(), ada, "r")
	if err != nil || now.Landed != "good" || now.Receipt != l.Receipt.ID {
		t.Errorf("%+v, %v", now, err)
	}
	if b := w.host.boxes[entryOf(t, rec, "bad").Box]; b.Stale == nil || b.Stale.Receipt != l.Receipt.ID {
		t.Errorf("the other box is stale by %+v", b.Stale)
	}
	_, err = w.apply(forkbox.RaceApply{Approach: "bad"})
	wantCode(t, err, forkbox.Exists)
	if !strings.Contains(err.Error(), "receipt "+l.Receipt.ID) {
		t.Error(err)
	}
	check(t, w.host.undo(l.Receipt.ID))
	if now, err = w.Get(context.Background(), ada, "r"); err != nil || now.Landed != "" || now.Receipt != "" {
		t.Errorf("after the undo: %q %q, %v", now.Landed, now.Receipt, err)
	}
	_, err = w.apply(forkbox.RaceApply{})
	check(t, err)
}

// A daemon that died right after the landing has not written that down. Nothing
// lands twice.
func TestLandingThatNobodyRecorded(t *testing.T) {
	w, rec := landWorld(t)
	good := entryOf(t, rec, "good")
	_, err := fakeBoxes{host: w.host}.Apply(context.Background(), ada, good.Box, forkbox.ApplySpec{})
	check(t, err)
	_, err = w.apply(forkbox.RaceApply{})
	wantCode(t, err, forkbox.Exists)
	if now, err := w.Get(context.Background(), ada, "r"); err != nil || now.Landed != "good" {
		t.Errorf("%q, %v", now.Landed, err)
	}
}

func TestLandingTwiceAtOnce(t *testing.T) {
	w, _ := landWorld(t)
	errs := make([]error, 4)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = w.apply(forkbox.RaceApply{}) })
	}
	all.Wait()
	landed := 0
	for _, err := range errs {
		if err == nil {
			landed++
		} else {
			wantCode(t, err, forkbox.Exists)
		}
	}
	if receipts, err := w.ledger.Receipts(context.Background(), nil); landed != 1 || len(receipts) != 1 || err != nil {
		t.Errorf("%d landed, %d receipts, %v", landed, len(receipts), err)
	}
}

func TestLandingOfOneThatDidNotPass(t *testing.T) {
	w, _ := landWorld(t)
	_, err := w.apply(forkbox.RaceApply{Approach: "nosuch"})
	wantCode(t, err, forkbox.NotFound)
	// The yes to a second look is not one to this.
	_, err = w.apply(forkbox.RaceApply{Approach: "bad", ApplySpec: forkbox.ApplySpec{Yes: true}})
	wantCode(t, err, forkbox.Unconfirmed)
	var known *forkbox.Error
	if !errors.As(err, &known) || len(known.Items) != 1 || known.Items[0].Path != "bad" || !strings.Contains(known.Items[0].Why, "has not passed") {
		t.Errorf("%+v", known)
	}
	_, err = w.apply(forkbox.RaceApply{Approach: "bad", Unjudged: true})
	check(t, err)
	if w.host.reality["f"] != "bad" {
		t.Error(w.host.reality)
	}
}

func TestDriftIsSyncedAndCheckedAgain(t *testing.T) {
	w, _ := landWorld(t)
	w.host.drift = []forkbox.Drift{{Path: "/w/other"}}
	l, err := w.apply(forkbox.RaceApply{})
	check(t, err)
	if l.Synced == nil || len(l.Checked) != 1 || !l.Checked[0].Passed || w.host.reality["synced"] != "yes" || w.host.reality["coverage"] != "" {
		t.Errorf("%+v, reality %v", l, w.host.reality)
	}
}

// What does not hold any more does not land, and the box is as it was.
func TestDriftThatBreaksIt(t *testing.T) {
	for name, drift := range map[string]forkbox.Drift{
		"conflict": {Path: "/w/f", Both: true, Outcome: "conflict"}, "check": {Path: "/w/poison"},
	} {
		t.Run(name, func(t *testing.T) {
			w, rec := landWorld(t)
			w.host.drift = []forkbox.Drift{drift}
			if name == "check" {
				w.host.scripts["test"] = exits(1)
			}
			_, err := w.apply(forkbox.RaceApply{})
			wantCode(t, err, forkbox.Conflict)
			b := w.host.boxes[entryOf(t, rec, "good").Box]
			if len(w.host.reality) > 0 || b.files["synced"] != "" || b.files["conflict"] != "" || b.files["coverage"] != "" || b.files["f"] != "good" {
				t.Errorf("reality %v, the box %v", w.host.reality, b.files)
			}
			if n := len(b.snapshots); n != 1 { // what was saved of it
				t.Errorf("%d snapshots are left", n)
			}
		})
	}
}

func TestLandingWithoutItsBox(t *testing.T) {
	w, rec := landWorld(t)
	check(t, fakeBoxes{host: w.host}.Remove(context.Background(), ada, entryOf(t, rec, "good").Box, true))
	_, err := w.apply(forkbox.RaceApply{})
	wantCode(t, err, forkbox.NotFound)
}
