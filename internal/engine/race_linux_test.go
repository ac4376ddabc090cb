package engine

import (
	"context"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/retention"
)

func TestBoxesOfARaceHaveOneFence(t *testing.T) {
	w := newWorld(t)
	fence := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	b, err := w.Create(context.Background(), ada, CreateSpec{Name: "r-a", Race: "r1", Approach: "a", Fence: fence})
	check(t, err)
	if b, err = w.ledger.Box(context.Background(), b.ID); err != nil || b.Race != "r1" || b.Approach != "a" || !b.Base.Fence.Equal(fence) {
		t.Errorf("%+v, %v", b, err)
	}
	if other := w.create("other"); other.Base.Fence.Equal(fence) || other.Base.Fence.IsZero() || other.Race != "" {
		t.Errorf("%+v", other)
	}
}

func TestExecIsFoundByItsLabel(t *testing.T) {
	w := newWorld(t)
	b := w.create("one")
	req := command("sleep")
	req.Label = "a1/step/0"
	_, err := w.Exec(context.Background(), ada, b.ID, req, forkbox.Stdio{})
	check(t, err)
	list, err := w.Execs(context.Background(), ada, b.ID)
	if err != nil || len(list) != 1 || list[0].Label != req.Label {
		t.Errorf("%+v, %v", list, err)
	}
}

// A race leaves its box to a user who came to use it, and takes along what it
// has running there itself.
func TestRetiredBoxIsNotInUse(t *testing.T) {
	w := newWorld(t)
	ctx, b := context.Background(), w.create("one")
	ofRace := command("sleep")
	ofRace.Label = "a1/step/0"
	_, err := w.Exec(ctx, ada, b.ID, ofRace, forkbox.Stdio{})
	check(t, err)
	x := w.exec("one")
	check(t, w.Retire(ctx, ada, b.ID, 0))
	if w.state(b.ID) != forkbox.Running {
		t.Fatal("it was stopped under a command of its owner")
	}
	go w.host.instance(b.ID).exit(x.ID, forkbox.Exit{Cause: forkbox.CauseExited})
	w.wait(x)
	for range 2 { // it can be repeated
		check(t, w.Retire(ctx, ada, b.ID, 0))
		if w.state(b.ID) != forkbox.Stopped {
			t.Error("it goes on")
		}
	}
	wantCode(t, w.Retire(ctx, forkbox.Owner{UID: ada.UID + 1}, b.ID, 0), forkbox.NotFound)
}

// A box that lost a race is known as such from the landing of another one until
// that is undone, whatever it changed; one that only changed the same path is
// not.
func TestBoxesThatLostARace(t *testing.T) {
	l := newLab(t)
	l.real("f", "old\n")
	l.real("g", "old\n")
	won, lost, touched := l.box("won", "f", "one\n"), l.box("lost", "g", "two\n"), l.box("touched", "f", "three\n")
	for _, b := range []forkbox.Box{won, lost, touched} {
		b.Race = "r1"
		check(t, l.ledger.UpdateBox(context.Background(), b))
	}
	outcome := func(b forkbox.Box) retention.Outcome {
		now, err := l.ledger.Box(context.Background(), b.ID)
		check(t, err)
		o, err := l.FindOutcome(context.Background(), now)
		check(t, err)
		return o
	}
	r := l.mustApply("won", forkbox.ApplySpec{})
	check(t, l.Supersede(context.Background(), me, []string{won.ID, lost.ID, "gone"}, r.ID))
	if a, b, c := outcome(won), outcome(lost), outcome(touched); a != retention.Applied || b != retention.Lost || c != retention.Unreviewed {
		t.Errorf("won: %s, lost: %s, touched: %s", a, b, c)
	}
	now, err := l.ledger.Box(context.Background(), lost.ID)
	check(t, err)
	if used, err := l.LastUsed(context.Background(), now); err != nil || used.Before(r.Created) || now.Stale == nil || *now.Stale != (forkbox.Staleness{Receipt: r.ID, Box: "won", Lost: true}) {
		t.Errorf("last used %s, landed %s, stale %+v, %v", used, r.Created, now.Stale, err)
	}
	_, err = l.Undo(context.Background(), me, r.ID, UndoSpec{})
	check(t, err)
	if o := outcome(lost); o != retention.Unreviewed {
		t.Errorf("after the undo: %s", o)
	}
}

// Boxes of others are left alone, whatever ids a caller gives.
func TestSupersedeIsForOnesOwnBoxes(t *testing.T) {
	l := newLab(t)
	l.real("f", "old\n")
	l.box("won", "f", "one\n")
	theirs, err := l.Create(context.Background(), forkbox.Owner{UID: me.UID + 1, Name: "bob", Home: "/"}, CreateSpec{Name: "theirs"})
	check(t, err)
	r := l.mustApply("won", forkbox.ApplySpec{})
	check(t, l.Supersede(context.Background(), me, []string{theirs.ID}, r.ID))
	if theirs, err = l.ledger.Box(context.Background(), theirs.ID); err != nil || theirs.Stale != nil {
		t.Errorf("stale: %+v, %v", theirs.Stale, err)
	}
}
