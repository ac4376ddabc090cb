package race

import (
	"context"
	"errors"
	"strings"
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

func (l fullDisk) UpdateRace(ctx context.Context, r forkbox.Race, tell ...forkbox.Event) error {
	if l.full.Load() {
		return errors.New("database or disk is full")
	}
	return l.Ledger.UpdateRace(ctx, r, tell...)
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
	run.endContexts()
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

func TestSetupIsRunOnce(t *testing.T) {
	w := newWorld(t, map[string]script{"prepare": write("base", "there"), "test": has("base", "there")})
	spec := forkbox.RaceSpec{Name: "r", Setup: []forkbox.Command{{Run: "prepare"}}, Approaches: approaches("a=x", "b=y"), Checks: checks("test")}
	rec := w.run(spec)
	if rec.Winner == "" || rec.Point == "" || rec.SetupBox == "" || len(rec.SetupRuns) != 1 || count(w.host.log, ": prepare") != 1 {
		t.Fatalf("%s\n%+v\n%v", summary(rec), rec.SetupRuns, w.host.log)
	}
	// Run again it begins at the same point, without another setup.
	spec.Name, spec.Rerun = "again", "r"
	again := w.run(spec)
	if again.Winner == "" || again.Point != rec.Point || again.SetupBox != "" || count(w.host.log, ": prepare") != 1 || again.Spec.Rerun != rec.ID {
		t.Errorf("%s\n%+v", summary(again), again)
	}
	check(t, w.Remove(context.Background(), ada, "r", false))
	spec.Name, spec.Rerun = "third", "again"
	if third := w.run(spec); third.Point != rec.Point {
		t.Errorf("it began at %s", third.Point)
	}
	check(t, fakeBoxes{w.host, nil}.Remove(context.Background(), ada, rec.SetupBox, true))
	spec.Name = "fourth"
	_, err := w.Start(context.Background(), ada, spec)
	wantCode(t, err, forkbox.NotFound) // what it began at is gone
}

func count(list []string, part string) (n int) {
	for _, text := range list {
		if strings.Contains(text, part) {
			n++
		}
	}
	return n
}

func TestSetupThatFailsLeavesNothing(t *testing.T) {
	w := newWorld(t, map[string]script{"prepare": func(map[string]string, int) (int, string) {
		return 7, strings.Repeat("noise\n", 100) + "the disk is \x1b[31mblue\n"
	}})
	rec := w.run(forkbox.RaceSpec{Name: "r", Setup: []forkbox.Command{{Run: "prepare"}, {Run: "never"}}, Approaches: approaches("a=x")})
	for _, word := range []string{"prepare", "exit 7", "the disk is blue"} {
		if !strings.Contains(rec.Why, word) {
			t.Errorf("it does not say %q: %s", word, rec.Why)
		}
	}
	if rec.State != forkbox.RaceFailed || len(w.host.boxes) != 0 || rec.SetupBox != "" || count(w.host.log, "never")+count(w.host.log, "x") > 0 {
		t.Errorf("%s, %d boxes, %v", summary(rec), len(w.host.boxes), w.host.log)
	}
	if strings.Count(rec.Why, "noise") >= mostLines || rec.Entries[0].Phase != forkbox.PhaseDone {
		t.Errorf("%+v", rec)
	}
	now, err := w.Get(context.Background(), ada, "r")
	if err != nil || now.Why != rec.Why {
		t.Errorf("%+v, %v", now, err)
	}
}

func TestRaceBeginsAtASnapshot(t *testing.T) {
	w := newWorld(t, map[string]script{"test": has("base", "old")})
	boxes := fakeBoxes{host: w.host}
	first := w.run(forkbox.RaceSpec{Name: "first", Approaches: approaches("a=x")})
	box := first.Entries[0].Box
	w.host.boxes[box].files["base"] = "old"
	s, err := boxes.Snapshot(context.Background(), ada, box, forkbox.SnapshotSpec{Name: "green"})
	check(t, err)
	w.host.boxes[box].files["base"] = "new"
	rec := w.run(forkbox.RaceSpec{Name: "r", Start: forkbox.RaceStart{From: "first-a@green"}, Approaches: approaches("a=x", "b=y"), Checks: checks("test")})
	if rec.Winner == "" || rec.Point != box+"@"+s.ID {
		t.Errorf("%s at %s", summary(rec), rec.Point)
	}
	// With a setup, that begins there.
	w.host.scripts["prepare"] = has("base", "old")
	rec = w.run(forkbox.RaceSpec{
		Name: "s", Start: forkbox.RaceStart{From: "first-a@green"}, Setup: []forkbox.Command{{Run: "prepare"}}, Approaches: approaches("a=x"), Checks: checks("test"),
	})
	if rec.Winner == "" || rec.Point == box+"@"+s.ID || rec.SetupBox == "" {
		t.Errorf("%s at %s: %s", summary(rec), rec.Point, rec.Why)
	}
}

// What the setup did is not what an approach did.
func TestSizeIsSinceThePoint(t *testing.T) {
	w := newWorld(t, map[string]script{"setup": write("base", "0123456789"), "work": write("f", "abc")})
	for _, judged := range []bool{false, true} {
		spec := forkbox.RaceSpec{Setup: []forkbox.Command{{Run: "setup"}}, Approaches: approaches("a=true", "b=work")}
		if judged {
			spec.Checks = checks("true")
		}
		rec := w.run(spec)
		if d := entryOf(t, rec, "a").Diff; d.Files+d.Plus != 0 {
			t.Errorf("a did nothing: %+v", d)
		}
		if d := entryOf(t, rec, "b").Diff; d.Files != 1 || d.Plus != 3 || d.Paths[0] != "/w/f" {
			t.Errorf("b wrote three bytes: %+v", d)
		}
	}
}

// Nothing is left of a setup that failed, and who asks is told.
func TestLogOfAFailedSetup(t *testing.T) {
	w := newWorld(t, map[string]script{"setup": exits(7)})
	rec := w.run(forkbox.RaceSpec{Setup: []forkbox.Command{{Run: "setup"}}, Approaches: approaches("a=x")})
	err := w.Log(context.Background(), ada, rec.ID, "", false, func(forkbox.RaceLog) error { return nil })
	wantCode(t, err, forkbox.NotFound)
}
