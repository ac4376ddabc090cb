package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// places admits so many that run at once, and so many of each user.
func places(all, each int) func(Committed, Want) Verdict {
	return func(now Committed, want Want) Verdict {
		switch {
		case want.Exec && !want.Start:
			return Verdict{OK: true}
		case want.Start && now.Running >= all:
			return Verdict{Wait: true, Why: fmt.Sprintf("%d of %d boxes run", now.Running, all)}
		case want.Start && now.ByUser[want.Owner.UID].Running >= each:
			return Verdict{Wait: true, Why: "you have as many as you may"}
		}
		return Verdict{OK: true}
	}
}

func TestRefusedAtOnceWhatNeverWillBe(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.policies.with(func(p *fakePolicies) {
		p.admit = func(_ Committed, want Want) Verdict {
			return Verdict{OK: limitIn(want.Policy, forkbox.Memory) < 16<<30, Why: "the host has 16g"}
		}
	})
	_, err := w.Create(t.Context(), ada, CreateSpec{Wish: forkbox.Wish{Limits: forkbox.Limits{forkbox.Memory: 32 << 30}}})
	wantCode(t, err, forkbox.Denied)
	w.make("one", nil)
	if boxes, err := w.Boxes(t.Context(), ada); err != nil || len(boxes) != 1 {
		t.Errorf("%v, %v", boxes, err)
	}
}

func TestCommitted(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	a := w.make("a", forkbox.Limits{forkbox.Memory: 1 << 30, forkbox.Disk: 5 << 30})
	w.make("b", forkbox.Limits{forkbox.Memory: 2 << 30, forkbox.CPUs: 1500})
	w.exec("a")
	w.exec("b")
	now := func() Committed {
		return w.Line.Committed()
	}
	want := func(c Committed) {
		t.Helper()
		if got := now(); fmt.Sprint(got) != fmt.Sprint(c) {
			t.Errorf("got %+v, want %+v", got, c)
		}
	}
	both := func(boxes, running int, memory, cpus, disk int64) Committed {
		return Committed{Running: running, Memory: memory, CPUs: cpus,
			ByUser: map[int]UserCommitted{ada.UID: {Boxes: boxes, Running: running, Memory: memory, CPUs: cpus, Disk: disk}}}
	}
	want(both(2, 2, 3<<30, 1500, 5<<30))
	_, err := w.Set(t.Context(), ada, "a", forkbox.Wish{Limits: forkbox.Limits{forkbox.Memory: 4 << 30, forkbox.Disk: 6 << 30}})
	check(t, err)
	want(both(2, 2, 6<<30, 1500, 6<<30))
	w.again() // it is counted anew
	want(both(2, 2, 6<<30, 1500, 6<<30))
	_, err = w.Pause(t.Context(), ada, "b")
	check(t, err)
	paused := both(2, 2, 6<<30, 1500, 6<<30)
	paused.Paused = 1
	want(paused)
	w.again()
	want(paused)
	_, err = w.Resume(t.Context(), ada, "b")
	check(t, err)
	want(both(2, 2, 6<<30, 1500, 6<<30))
	w.host.instance(a.ID).die(false)
	w.eventually("it is not counted", func() bool { return now().Running == 1 })
	want(both(2, 1, 2<<30, 1500, 6<<30))
	check(t, w.Remove(t.Context(), ada, "a", true))
	check(t, w.Remove(t.Context(), ada, "b", true))
	want(Committed{ByUser: map[int]UserCommitted{}})
}

func TestSetNeedsRoomWhereTheBoxRuns(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.policies.with(func(p *fakePolicies) {
		p.admit = func(now Committed, want Want) Verdict {
			mine, has := want.Policy.Of(forkbox.Memory)
			return Verdict{OK: !want.Start || has && now.Memory+mine <= 8<<30, Wait: true, Why: "more than 8g"}
		}
	})
	w.make("one", forkbox.Limits{forkbox.Memory: 4 << 30})
	w.exec("one")
	check(t, w.set1(8<<30)) // its own 4g do not count
	wantCode(t, w.set1(9<<30), forkbox.Busy)
	check(t, w.set1(1<<30))
	wantCode(t, w.set1(forkbox.Unlimited), forkbox.Busy) // as much as there is
}

func TestSetNeedsRoomInTheQuota(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.policies.with(func(p *fakePolicies) {
		p.admit = func(now Committed, want Want) Verdict {
			u := now.ByUser[ada.UID]
			return Verdict{OK: !want.New || u.Boxes < 2 && u.Disk+limitIn(want.Policy, forkbox.Disk) <= 10<<30, Why: "10g"}
		}
	})
	w.make("one", forkbox.Limits{forkbox.Disk: 4 << 30})
	w.make("two", forkbox.Limits{forkbox.Disk: 4 << 30})
	disk := func(v int64) error {
		_, err := w.Set(t.Context(), ada, "two", forkbox.Wish{Limits: forkbox.Limits{forkbox.Disk: v}})
		return err
	}
	check(t, disk(6<<30))
	wantCode(t, disk(7<<30), forkbox.Busy)
	check(t, disk(1<<30))
}

var noWait = int64(0)

func TestWaitOfNothingIsARefusal(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.policies.with(func(p *fakePolicies) { p.admit, p.patience = places(1, 9), time.Hour })
	w.make("one", nil)
	w.make("two", nil)
	w.exec("one")
	req := command("true")
	req.Wish.Wait = &noWait
	_, err := w.Exec(t.Context(), ada, "two", req, forkbox.Stdio{})
	wantCode(t, err, forkbox.Busy)
	_, err = w.Exec(t.Context(), ada, "one", req, forkbox.Stdio{}) // it runs already
	check(t, err)
}
