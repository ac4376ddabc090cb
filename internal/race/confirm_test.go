package race

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// A repeat that failed is not made good by one that passes.
func TestFailedRepeatCounts(t *testing.T) {
	for _, services := range []bool{false, true} {
		w := newWorld(t, map[string]script{"test": only(0, 2)})
		w.host.services = services
		rec := w.run(forkbox.RaceSpec{Approaches: approaches("a=true"), Checks: checks("test")})
		if e := rec.Entries[0]; e.Outcome != forkbox.OutcomeFlaky || len(e.Checks[0].Runs) != 3 || !e.Checks[0].Flaky {
			t.Errorf("with services %v: %s after %d runs", services, e.Outcome, len(e.Checks[0].Runs))
		}
	}
}

// A repeat that failed counts even if the next one does not come to its end.
func TestRepeatsAreNotedAsTheyCome(t *testing.T) {
	w := newWorld(t, nil)
	w.host.scripts = map[string]script{"later": exits(0), "test": func(_ map[string]string, n int) (int, string) {
		if n == 0 {
			return 0, ""
		}
		w.host.opened["later"] = make(chan struct{}) // it hangs from now on
		return 1, ""
	}}
	rec := w.run(forkbox.RaceSpec{Approaches: approaches("a=true"), Checks: checks("test", "later"), Deadline: time.Second})
	if e := rec.Entries[0]; rec.Winner != "" || e.Outcome == forkbox.OutcomePassed || len(e.Checks[0].Runs) != 2 {
		t.Errorf("%s\n%+v", summary(rec), e.Checks)
	}
	if notes := strings.Join(rec.Notes, "\n"); !strings.Contains(notes, "could not be repeated: "+errDeadline.Error()) {
		t.Error(notes)
	}
}

// Whatever a daemon had noted of the runs of a check when it died: the next one
// comes to the same outcome.
func TestOutcomeIsMadeAnewFromTheRuns(t *testing.T) {
	for noted := 1; noted <= 3; noted++ {
		w := newWorld(t, map[string]script{"test": only(0)})
		rec := w.run(forkbox.RaceSpec{Approaches: approaches("a=true"), Checks: checks("test")})
		eventually(t, "all is still", func() bool { return !w.Busy() })
		w.restart(nil)
		e := &rec.Entries[0]
		e.Outcome, e.Why, e.Checks[0].Runs = forkbox.OutcomePassed, "", e.Checks[0].Runs[:noted]
		e.Checks[0].Passed, e.Checks[0].Flaky = noted == 1, noted > 1
		rec.State, rec.Winner, rec.Verdict = forkbox.RaceRunning, "", ""
		check(t, w.ledger.UpdateRace(context.Background(), rec))
		check(t, w.Resume(context.Background()))
		rec = w.ended(rec.ID)
		if e := rec.Entries[0]; rec.Winner != "" || e.Outcome != forkbox.OutcomeFailed || len(e.Checks[0].Runs) != 3 {
			t.Errorf("%d runs were noted: %s\n%+v", noted, summary(rec), e.Checks)
		}
		if len(w.host.faults) > 0 {
			t.Error(w.host.faults)
		}
	}
}
