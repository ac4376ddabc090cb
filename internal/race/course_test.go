package race

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// write is a step that leaves a file.
func write(name, text string) script {
	return func(files map[string]string, _ int) (int, string) { files[name] = text; return 0, "" }
}

func exits(code int) script { return func(map[string]string, int) (int, string) { return code, "" } }

// has is a check for a file's text.
func has(name, text string) script {
	return func(files map[string]string, _ int) (int, string) {
		files["coverage"] = "written by a check"
		if files[name] == text {
			return 0, ""
		}
		return 1, name + " is " + files[name] + "\n"
	}
}

// only passes in the runs that are named, counted from 0.
func only(runs ...int) script {
	return func(_ map[string]string, n int) (int, string) {
		if slices.Contains(runs, n) {
			return 0, ""
		}
		return 1, ""
	}
}

func prints(text string) script {
	return func(map[string]string, int) (int, string) { return 0, text }
}

func TestOutcomes(t *testing.T) {
	scripts := map[string]script{
		"good": write("f", "good"), "bad": write("f", "bad"), "fails": exits(3), "test": has("f", "good"),
	}
	w := newWorld(t, scripts)
	w.host.exits["oom"] = forkbox.Exit{Code: 137, Cause: forkbox.CauseOOM, Limit: 64 << 20}
	w.host.exits["slow"] = forkbox.Exit{Code: 124, Cause: forkbox.CauseTimeout}
	w.host.refuse["create e"] = errors.New("no disk")
	spec := forkbox.RaceSpec{
		Name: "r", Approaches: approaches("a=bad", "b=fails;good", "c=good", "d=oom", "e=good", "f=slow", "g=fails;good"), Checks: checks("test"),
	}
	spec.Approaches[6].Steps[0].MayFail = true
	rec := w.run(spec)
	if rec.Winner == "" || rec.State != forkbox.RaceFinished {
		t.Fatalf("%s: %s\n%s", rec.State, rec.Why, summary(rec))
	}
	for name, want := range map[string]struct {
		outcome forkbox.Outcome
		why     string
	}{
		"a": {forkbox.OutcomeFailed, "exit 1"}, "b": {forkbox.OutcomeBroken, "its step fails failed (exit 3)"},
		"c": {forkbox.OutcomePassed, ""}, "d": {forkbox.OutcomeLimited, "met its limit of memory (64m)"},
		"e": {forkbox.OutcomeError, "no disk"}, "f": {forkbox.OutcomeTimedOut, "took too long"}, "g": {forkbox.OutcomePassed, ""},
	} {
		if e := entryOf(t, rec, name); e.Outcome != want.outcome || !strings.Contains(e.Why, want.why) || e.Phase != forkbox.PhaseDone {
			t.Errorf("%s: %s %s, %q", name, e.Phase, e.Outcome, e.Why)
		}
	}
	// What checks write does not stay.
	for _, b := range w.host.boxes {
		if b.files["coverage"] != "" {
			t.Errorf("%s has what a check wrote", b.Name)
		}
	}
	if e := entryOf(t, rec, "c"); e.Diff.Files != 1 || e.Diff.Paths[0] != "/w/f" || len(e.Steps) != 1 || e.CPU == 0 || e.MemoryPeak == 0 || e.Saved == "" {
		t.Errorf("%+v", e)
	}
	if b := entryOf(t, rec, "b"); len(b.Steps) != 1 {
		t.Errorf("it went on after a step had failed: %+v", b.Steps)
	}
}

func TestNobodyPasses(t *testing.T) {
	w := newWorld(t, map[string]script{"test": exits(1)})
	rec := w.run(forkbox.RaceSpec{Approaches: approaches("a=true", "b=true"), Checks: checks("test")})
	if rec.Winner != "" || rec.State != forkbox.RaceFinished || rec.Verdict == "" || rec.Name == "" {
		t.Error(summary(rec), rec.Verdict, rec.Name)
	}
	_, err := w.Apply(context.Background(), ada, rec.ID, forkbox.RaceApply{})
	wantCode(t, err, forkbox.Invalid)
}

// A check that failed is run twice more; what the leader passed is confirmed.
func TestFlakyChecks(t *testing.T) {
	w := newWorld(t, map[string]script{
		"sometimes": only(1, 2), "seldom": only(2), "once": only(0), "steady": exits(0),
	})
	one := func(check string) forkbox.Checked {
		rec := w.run(forkbox.RaceSpec{Approaches: approaches("a=true"), Checks: checks(check)})
		return rec.Entries[0].Checks[0]
	}
	for check, want := range map[string]struct {
		runs          int
		passed, flaky bool
	}{
		"sometimes": {3, true, true}, "seldom": {3, false, true}, "once": {3, false, true}, "steady": {2, true, false},
	} {
		if c := one(check); len(c.Runs) != want.runs || c.Passed != want.passed || c.Flaky != want.flaky {
			t.Errorf("%s: %d runs, passed %v, flaky %v", check, len(c.Runs), c.Passed, c.Flaky)
		}
	}
	spec := forkbox.RaceSpec{Approaches: approaches("a=true"), Checks: checks("seldom")}
	spec.Checks[0].Once = true
	if c := w.run(spec).Entries[0].Checks[0]; len(c.Runs) != 1 {
		t.Errorf("it is to be run once, and ran %d times", len(c.Runs))
	}
}

// When what the leader passed does not hold, the next one leads, and confirms.
func TestLeaderThatIsFlakyLosesItsPlace(t *testing.T) {
	flaky := func(files map[string]string, n int) (int, string) {
		if files["f"] == "flaky" && n > 0 {
			return 1, ""
		}
		return 0, ""
	}
	w := newWorld(t, map[string]script{"first": write("f", "flaky"), "second": write("f", "a longer text"), "test": flaky})
	rec := w.run(forkbox.RaceSpec{Approaches: approaches("a=first", "b=second"), Checks: checks("test")})
	if rec.Winner != "b" || entryOf(t, rec, "a").Outcome != forkbox.OutcomeFailed || len(entryOf(t, rec, "b").Checks[0].Runs) != 2 {
		t.Errorf("%s\n%+v", summary(rec), rec.Entries)
	}
}

func TestRetriesBeginAnew(t *testing.T) {
	tries := 0
	w := newWorld(t, map[string]script{"unlucky": func(files map[string]string, _ int) (int, string) {
		files["left"] = "over"
		if tries++; tries < 3 {
			return 1, ""
		}
		return 0, ""
	}})
	rec := w.run(forkbox.RaceSpec{Approaches: approaches("a=unlucky"), Retries: 2})
	if e := rec.Entries[0]; e.Attempt != 3 || e.Outcome != forkbox.OutcomePassed || len(w.host.boxes) != 1 || len(w.host.faults) > 0 {
		t.Errorf("attempt %d, %s, %d boxes, %v", e.Attempt, e.Outcome, len(w.host.boxes), w.host.faults)
	}
	tries = -10
	if e := w.run(forkbox.RaceSpec{Approaches: approaches("a=unlucky"), Retries: 1}).Entries[0]; e.Attempt != 2 || e.Outcome != forkbox.OutcomeBroken {
		t.Errorf("attempt %d, %s", e.Attempt, e.Outcome)
	}
}

func TestFirstPassCancelsTheRest(t *testing.T) {
	w := newWorld(t, map[string]script{"good": write("f", "good"), "test": has("f", "good")})
	rec := w.run(forkbox.RaceSpec{
		Approaches: approaches("a=hang", "b=bad", "c=good", "d=hang"), Checks: checks("test"), Stop: forkbox.StopFirstPass,
		Metrics: []forkbox.Metric{{Command: forkbox.Command{Run: "never"}, Time: true}},
	})
	if rec.Winner != "c" || entryOf(t, rec, "a").Outcome != forkbox.OutcomeCancelled || entryOf(t, rec, "b").Outcome == forkbox.OutcomePassed {
		t.Error(summary(rec))
	}
	if runs := len(entryOf(t, rec, "c").Checks[0].Runs); runs != 2 || slices.Contains(w.host.log, "c: never") {
		t.Errorf("%d runs of the check; %v", runs, w.host.log)
	}
	eventually(t, "all is still", func() bool { return !w.Busy() })
	w.host.allStill(t)
}

func (h *host) allStill(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.boxes {
		for _, x := range b.execs {
			if x.Exit == nil {
				t.Errorf("%s still runs in %s", x.run, b.Name)
			}
		}
		if b.State == forkbox.Running {
			t.Errorf("%s still runs", b.Name)
		}
	}
}

func TestDeadlineEndsWhatIsNotDone(t *testing.T) {
	w := newWorld(t, nil)
	rec := w.run(forkbox.RaceSpec{Approaches: approaches("a=hang", "b=true"), Deadline: 50 * time.Millisecond})
	if rec.Winner != "b" || entryOf(t, rec, "a").Outcome != forkbox.OutcomeTimedOut || rec.State != forkbox.RaceFinished {
		t.Error(summary(rec))
	}
	eventually(t, "all is still", func() bool { return !w.Busy() })
	w.host.allStill(t)
}

func TestParallelBoundsHowManyRun(t *testing.T) {
	w := newWorld(t, nil)
	door := make(chan struct{})
	w.host.opened["wait"] = door
	rec, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Approaches: approaches("a=wait", "b=wait", "c=wait", "d=wait"), Parallel: 2})
	check(t, err)
	running := func() (n int) {
		w.host.mu.Lock()
		defer w.host.mu.Unlock()
		return len(w.host.log)
	}
	eventually(t, "two run", func() bool { return running() == 2 })
	if n := len(w.host.boxes); n != 2 {
		t.Errorf("%d boxes", n)
	}
	close(door)
	if rec = w.ended(rec.ID); running() != 4 || rec.State != forkbox.RaceFinished {
		t.Errorf("%d ran; %s", running(), summary(rec))
	}
}

// The same seed lets them begin in the same order.
func TestSeedDecidesTheOrder(t *testing.T) {
	order := func(seed int64) string {
		w := newWorld(t, nil)
		w.run(forkbox.RaceSpec{Approaches: approaches("a=x", "b=x", "c=x", "d=x", "e=x", "f=x"), Parallel: 1, Seed: seed})
		return strings.Join(w.host.log, " ")
	}
	first, again, other := order(7), order(7), order(8)
	if first != again || first == other {
		t.Error(first, again, other)
	}
}

func TestEnvironmentAndDirectory(t *testing.T) {
	w := newWorld(t, nil)
	spec := forkbox.RaceSpec{Name: "r", Approaches: approaches("a=x", "b=y"), Seed: 40, Start: forkbox.RaceStart{Dir: "/w", Env: []string{"A=1", "SECRET=1"}}}
	spec.Approaches[1].Env = []string{"V=approach", "W=1"}
	spec.Approaches[1].Steps[0].Env = []string{"V=step"}
	spec.Approaches[1].Steps[0].Dir = "sub"
	rec := w.run(spec)
	if got := strings.Join(rec.Spec.Start.Env, " "); got != "A=1" {
		t.Errorf("recorded: %s", got)
	}
	b, err := fakeBoxes{host: w.host}.find(ada, "r-b")
	check(t, err)
	if got := strings.Join(b.execs[0].env, " "); got != "FORKBOX_RACE=r FORKBOX_APPROACH=b FORKBOX_SEED=41 V=step W=1" || b.execs[0].Dir != "/w/sub" {
		t.Errorf("%s in %s", got, b.execs[0].Dir)
	}
	if strings.Join(b.Env, " ") != "A=1" || b.Race != rec.ID || b.Approach != "b" || !b.Base.Fence.Equal(rec.Fence) {
		t.Errorf("%+v", b.Box)
	}
}

func TestRefusedBeforeAnythingIsMade(t *testing.T) {
	w := newWorld(t, nil)
	odd := approaches("a=x")
	odd[0].Provider = "docker"
	_, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Approaches: odd})
	wantCode(t, err, forkbox.Unsupported)
	_, err = w.Start(context.Background(), ada, forkbox.RaceSpec{})
	wantCode(t, err, forkbox.Invalid)
	odd = approaches("a=x")
	odd[0].Limits = forkbox.Limits{forkbox.Disk: 1 << 30}
	_, err = w.Start(context.Background(), ada, forkbox.RaceSpec{Approaches: odd})
	wantCode(t, err, forkbox.Unsupported)
	for _, from := range []string{"nosuch@x", "nosuch@"} {
		_, err = w.Start(context.Background(), ada, forkbox.RaceSpec{Approaches: approaches("a=x"), Start: forkbox.RaceStart{From: from}})
		wantCode(t, err, forkbox.NotFound)
	}
	if list, err := w.List(context.Background(), ada); err != nil || len(list)+len(w.host.boxes) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// The owner may have a box that is called like one of the race's.
func TestNameOfABoxIsTaken(t *testing.T) {
	w := newWorld(t, nil)
	first := w.run(forkbox.RaceSpec{Name: "r", Approaches: approaches("a=x")})
	check(t, w.ledger.DeleteRace(context.Background(), first.ID)) // its box is left
	second := w.run(forkbox.RaceSpec{Name: "r", Approaches: approaches("a=x")})
	if e := second.Entries[0]; e.Outcome != forkbox.OutcomePassed || e.BoxName != "r-a-2" {
		t.Errorf("%s in %s: %s", e.Outcome, e.BoxName, e.Why)
	}
	_, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Name: "r", Approaches: approaches("a=x")})
	wantCode(t, err, forkbox.Exists)
}

func TestLimitsOfItsOwnAreNoted(t *testing.T) {
	w := newWorld(t, nil)
	spec := forkbox.RaceSpec{Name: "r", Approaches: approaches("a=x", "b=x"), Start: forkbox.RaceStart{Wish: forkbox.Wish{Limits: forkbox.Limits{forkbox.Memory: 1 << 30, forkbox.Pids: 50}}}}
	spec.Approaches[1].Limits = forkbox.Limits{forkbox.Memory: 2 << 30}
	rec := w.run(spec)
	b, err := fakeBoxes{host: w.host}.find(ada, "r-b")
	check(t, err)
	if l := b.Asked.Limits; l[forkbox.Memory] != 2<<30 || l[forkbox.Pids] != 50 || len(rec.Notes) != 1 || !strings.Contains(rec.Notes[0], "b has limits of its own") {
		t.Errorf("%v, %v", l, rec.Notes)
	}
	if rec.Spec.Start.Wish.Limits[forkbox.Memory] != 1<<30 {
		t.Error("the limits of the race were changed")
	}
}

// A check that spoils what it checks is not flaky: it passes each time in a box
// that is as the steps left it.
func TestCheckThatSpoilsItsBoxIsNotFlaky(t *testing.T) {
	w := newWorld(t, map[string]script{"good": write("f", "good"), "build": write("bin", "there"), "test": func(files map[string]string, _ int) (int, string) {
		if files["f"] != "good" || files["bin"] != "there" {
			return 1, ""
		}
		files["f"] = "spoilt"
		return 0, ""
	}})
	rec := w.run(forkbox.RaceSpec{Name: "r", Approaches: approaches("a=good"), Checks: checks("build", "test")})
	if e := rec.Entries[0]; e.Outcome != forkbox.OutcomePassed || len(e.Checks[1].Runs) != 2 || e.Checks[1].Flaky {
		t.Errorf("%s: %+v", e.Outcome, e.Checks)
	}
	b, err := fakeBoxes{host: w.host}.find(ada, "r-a")
	check(t, err)
	if b.files["f"] != "good" || b.files["bin"] != "" {
		t.Errorf("it is left with %v", b.files)
	}
}

// When a race has ended its boxes come to rest, but not while the owner lands
// one: that may run its checks again.
func TestBoxesRestAfterALanding(t *testing.T) {
	w := newWorld(t, map[string]script{"good": write("f", "good")})
	rec, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Name: "r", Approaches: approaches("a=good")})
	check(t, err)
	landed, err := w.takeTurn(context.Background(), rec.ID)
	check(t, err)
	w.ended(rec.ID)
	time.Sleep(3 * restAfter)
	if !w.host.runs("a") {
		t.Error("its box was stopped")
	}
	landed()
	eventually(t, "its box rests", func() bool { return !w.host.runs("a") })
}
