package race

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/forkbox/forkbox"
)

// Of many races that are started at once no more run than may.
func TestStartsAtOnceAreBounded(t *testing.T) {
	w := newWorld(t, nil)
	var started atomic.Int32
	var all sync.WaitGroup
	for range 2 * mostRunning {
		all.Go(func() {
			_, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Approaches: approaches("a=hang")})
			if err == nil {
				started.Add(1)
			} else if forkbox.CodeOf(err) != forkbox.Busy {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := started.Load(); n != mostRunning {
		t.Errorf("%d run", n)
	}
}

// fullDisk is a ledger in which nothing can be written while it is full.
type fullDisk struct {
	forkbox.Ledger
	full *atomic.Bool
}

func (l fullDisk) UpdateRace(ctx context.Context, r forkbox.Race) error {
	if l.full.Load() {
		return errors.New("database or disk is full")
	}
	return l.Ledger.UpdateRace(ctx, r)
}

// A race that fills the disk can be cancelled, and its end is recorded when
// there is room again.
func TestCancelOnAFullDisk(t *testing.T) {
	w := newWorld(t, nil)
	w.stop()
	full := &atomic.Bool{}
	w.Races = New(Config{Boxes: fakeBoxes{w.host, nil}, Ledger: fullDisk{w.ledger, full}})
	rec, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Name: "r", Approaches: approaches("a=hang")})
	check(t, err)
	live := w.running(rec.ID)
	eventually(t, "it runs", func() bool { return live.busyNow() == 1 })
	full.Store(true)
	rec, err = w.Cancel(context.Background(), ada, "r")
	check(t, err)
	if rec.State != forkbox.RaceCancelled {
		t.Error(summary(rec))
	}
	eventually(t, "a is still", func() bool { return !w.host.runs("a") })
	full.Store(false)
	eventually(t, "its end is recorded", func() bool {
		rec, err := w.find(context.Background(), ada, "r")
		return err == nil && rec.State == forkbox.RaceCancelled
	})
}

// The race's rules and ports are not for an approach that has no network of that
// kind.
func TestNetworkOfItsOwn(t *testing.T) {
	w := newWorld(t, nil)
	start := forkbox.RaceStart{Net: string(forkbox.NetPolicy), NetWish: forkbox.NetWish{Rules: []string{"allow x"}}}
	spec := forkbox.RaceSpec{Approaches: approaches("a=x", "b=x"), Start: start}
	spec.Approaches[1].Net = string(forkbox.NetNone)
	run := w.newRace(forkbox.Race{Spec: spec})
	if a, b := run.boxSpec(0), run.boxSpec(1); len(a.NetWish.Rules) != 1 || len(b.NetWish.Rules) != 0 || b.Net != "none" {
		t.Errorf("%+v, %+v", a.NetWish, b.NetWish)
	}
	run.letGo()
}

func TestTemplateThatIsNotThere(t *testing.T) {
	w := newWorld(t, nil)
	_, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Approaches: approaches("a=x"), Start: forkbox.RaceStart{Template: "nosuch"}})
	wantCode(t, err, forkbox.NotFound)
}

// What a repeated race began at stays until that is removed, too.
func TestRemoveLeavesWhatOthersBeganAt(t *testing.T) {
	w := newWorld(t, map[string]script{"setup": write("base", "x")})
	spec := forkbox.RaceSpec{Name: "r", Setup: []forkbox.Command{{Run: "setup"}}, Approaches: approaches("a=x")}
	first := w.run(spec)
	spec.Name, spec.Rerun = "again", "r"
	second := w.run(spec)
	eventually(t, "all is still", func() bool { return !w.Busy() })
	check(t, w.Remove(context.Background(), ada, "r", true))
	if len(w.host.boxes) != 2 || w.host.boxes[first.SetupBox] == nil || second.Point != first.Point {
		t.Errorf("%d boxes are left", len(w.host.boxes))
	}
	check(t, w.Remove(context.Background(), ada, "again", true))
	if len(w.host.boxes) != 0 {
		t.Errorf("%d boxes are left", len(w.host.boxes))
	}
}
