package page_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/page"
)

// sample is a race as there are many: one passed, one is flaky, one failed, one
// broke.
func sample() page.Page {
	began := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	race := forkbox.Race{
		ID: "8a6f", Name: "fix-login", State: forkbox.RaceFinished, Created: began, Ended: began.Add(12 * time.Second),
		Spec: forkbox.RaceSpec{
			Seed:  42,
			Start: forkbox.RaceStart{Dir: "/home/me/app", Env: forkbox.Strings{"TOKEN=hunter2"}},
			Approaches: []forkbox.Approach{
				{Name: "patch"}, {Name: "dep"}, {Name: "agent", Prompt: "Fix the login.\nBe careful."}, {Name: "revert"},
			},
		},
		Winner: "patch", Verdict: "patch wins: it passes every check, the others do not.",
		Notes: []string{"Files changed in reality while it ran: go.mod"},
	}
	race.Entries = []forkbox.Entry{samplePassed(), sampleFlaky(), sampleFailed(), sampleBroken()}
	return page.Page{
		Race: race, Made: began.Add(time.Minute), Version: "v1.2.3",
		Diffs: map[string][]forkbox.Change{"patch": {sampleChange()}, "dep": {}},
	}
}

func samplePassed() forkbox.Entry {
	return forkbox.Entry{
		Name: "patch", Box: "b1", BoxName: "fix-login-patch", Phase: forkbox.PhaseDone, Outcome: forkbox.OutcomePassed,
		Rank: 1, Score: 1, Took: 1500 * time.Millisecond, CPU: time.Second, MemoryPeak: 64 << 20, Attempt: 1,
		Steps:  []forkbox.Ran{{Name: "git apply fix.diff", Exit: exited(0), Took: 20 * time.Millisecond}},
		Checks: []forkbox.Checked{check("go test", true, 0, 0), check("lint", false, 0)},
		Metrics: []forkbox.Measured{{
			Name: "build", Unit: "s", Values: []float64{0.5, 0.25, 0.75, 0.5}, Median: 0.5, Low: 0.4375, High: 0.5625,
		}},
		Diff:  forkbox.DiffSize{Files: 1, Plus: 2, Minus: 1},
		Risks: []forkbox.Caution{{Path: "login_test.go", Why: "a test was changed"}},
	}
}

func sampleFlaky() forkbox.Entry {
	flaky := check("go test", true, 1, 0, 0)
	flaky.Flaky, flaky.Passed = true, true
	return forkbox.Entry{
		Name: "dep", Phase: forkbox.PhaseDone, Outcome: forkbox.OutcomeFlaky, Rank: 2, Score: 0.5, Took: 3 * time.Second,
		Checks: []forkbox.Checked{flaky, check("lint", false, 1)}, Reason: "flaky: go test passed 2 of 3 times",
		Metrics: []forkbox.Measured{{Name: "build", Unit: "s", Values: []float64{0.125}, Median: 0.125, Low: 0.125, High: 0.125}},
	}
}

func sampleFailed() forkbox.Entry {
	return forkbox.Entry{
		Name: "agent", Phase: forkbox.PhaseDone, Outcome: forkbox.OutcomeFailed, Rank: 3, Took: 7 * time.Second,
		Checks: []forkbox.Checked{check("go test", true, 1, 1, 1)}, Ties: []string{"revert"}, Refused: 2, Attempt: 2,
	}
}

func sampleBroken() forkbox.Entry {
	return forkbox.Entry{
		Name: "revert", Phase: forkbox.PhaseDone, Outcome: forkbox.OutcomeBroken, Rank: 3, Why: "git revert: exit 128",
		Steps: []forkbox.Ran{{Name: "git revert -n HEAD", Exit: exited(128)}},
	}
}

func sampleChange() forkbox.Change {
	return forkbox.Change{
		Path: "/home/me/app/login.go", Kind: forkbox.Modified, Type: "file", Plus: 2, Minus: 1,
		Patch: []byte("diff --git a/login.go b/login.go\n--- a/login.go\n+++ b/login.go\n@@ -1,2 +1,3 @@ func login\n--- gone\n+++ came\n+</script><b>x\n same\n"),
	}
}

func exited(code int) *forkbox.Exit { return &forkbox.Exit{Code: code, Cause: forkbox.CauseExited} }

func check(name string, must bool, exits ...int) forkbox.Checked {
	c := forkbox.Checked{Name: name, Must: must, Weight: 1, Passed: exits[len(exits)-1] == 0}
	for _, code := range exits {
		c.Runs = append(c.Runs, forkbox.Ran{Name: name, Exit: exited(code)})
	}
	return c
}

// write is the page as a browser gets it.
func write(t testing.TB, p page.Page) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func contains(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%.2000s", want, text)
		}
	}
}
