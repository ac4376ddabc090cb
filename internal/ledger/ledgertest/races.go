package ledgertest

import (
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// Race is one with every field set, so that a ledger that forgets one fails.
func Race(id, name string, uid int, after time.Duration) forkbox.Race {
	box := Box("aaaaaaaaaaaa", "one", uid)
	return forkbox.Race{
		ID: id, Name: name, Owner: box.Owner, Spec: raceSpec(name), State: forkbox.RaceRunning,
		Created: box.Created.Add(after), Ended: box.Created.Add(time.Hour), Why: "a reason", Fence: box.Created,
		SetupBox: "bbbbbbbbbbbb", Point: "s1", SetupRuns: []forkbox.Ran{ran("setup")},
		Entries: []forkbox.Entry{entry("zig"), entry("dep"), entry("patch")},
		Winner:  "dep", Verdict: "it is smaller", Landed: "dep", Receipt: "r1", Notes: []string{"a note"}, Resumed: 2,
	}
}

func raceSpec(name string) forkbox.RaceSpec {
	command := forkbox.Command{
		Name: "test", Run: "go test", Argv: []string{"go", "a\nb"}, Dir: "/src", Env: []string{"A=b"}, Timeout: time.Second, MayFail: true,
	}
	extract := forkbox.Extract{Pattern: "([0-9]+)", JSON: "a[0].b", File: "out.json"}
	return forkbox.RaceSpec{
		Name:  name,
		Start: forkbox.RaceStart{From: "one@s", Template: "go", Dir: "/src", Env: []string{"PATH=/bin"}, AllowSecrets: []string{"T"}, Net: "none", Wish: *wish()},
		Setup: []forkbox.Command{command},
		Approaches: []forkbox.Approach{{
			Name: "dep", Steps: []forkbox.Command{command}, Env: []string{"B=c"}, Limits: forkbox.Limits{forkbox.CPUs: 1000},
			Net: "none", Rules: []string{"allow x"}, Provider: "native", Prompt: "do it",
		}},
		Checks:    []forkbox.RaceCheck{{Command: command, Must: true, Weight: 2, Score: &extract, Of: 100, Once: true}},
		Metrics:   []forkbox.Metric{{Command: command, Extract: extract, Time: true, Higher: true, Unit: "s", Warmup: 1, Runs: 2, Most: 3, Budget: 4, Tolerance: 0.5}},
		TieBreaks: []forkbox.TieBreak{forkbox.Faster}, Stop: forkbox.StopDeadline, Deadline: time.Minute, Timeout: time.Second,
		Parallel: 2, Retries: 1, Seed: 42, Rerun: "r0",
	}
}

func entry(name string) forkbox.Entry {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	return forkbox.Entry{
		Name: name, Box: "cccccccccccc", BoxName: "race-" + name, Phase: forkbox.PhaseDone, Outcome: forkbox.OutcomeFlaky,
		Why: "a \"why\" é\n", Attempt: 2, Started: at, Ended: at.Add(time.Second), Took: time.Second, Steps: []forkbox.Ran{ran("step")},
		Checks:  []forkbox.Checked{{Name: "test", Must: true, Weight: 2, Passed: true, Flaky: true, Score: 0.5, Runs: []forkbox.Ran{ran("check")}, Scores: []float64{0.1}, Why: "w"}},
		Metrics: []forkbox.Measured{{Name: "m", Unit: "s", Higher: true, Values: []float64{1e-9, 3}, Median: 2, Low: 1, High: 3, Why: "w"}},
		Score:   0.5, CPU: time.Second, MemoryPeak: 1 << 40, Diff: forkbox.DiffSize{Files: 1, Plus: 2, Minus: 3, Bytes: 4, System: 5, Paths: []string{"a\nb"}},
		Risks: []forkbox.Caution{{Path: "/a", Why: "secret"}}, Refused: 3, Rank: 1, Ties: []string{"x"}, Reason: "slower", Saved: "s2",
	}
}

func ran(name string) forkbox.Ran {
	return forkbox.Ran{Name: name, Exec: "3", Exit: &forkbox.Exit{Code: 1, Cause: forkbox.CauseExited}, Took: time.Millisecond}
}

func raceIsKeptWhole(t *testing.T, l forkbox.Ledger) {
	want := Race("r1", "fix", 1000, 0)
	noError(t, l.AddRace(t.Context(), want))
	only := func() {
		t.Helper()
		got, err := l.Races(t.Context(), nil)
		noError(t, err)
		equal(t, got, []forkbox.Race{want})
	}
	only()

	want.State, want.Why, want.Name = forkbox.RaceFinished, "", "renamed"
	want.Entries = []forkbox.Entry{want.Entries[2], want.Entries[0]} // ranked
	noError(t, l.UpdateRace(t.Context(), want))
	only()

	want.Entries[1].Why, want.Entries[1].Phase = "", forkbox.PhaseChecking
	noError(t, l.SaveEntries(t.Context(), "r1", want.Entries[1:]))
	only()

	noError(t, l.DeleteRace(t.Context(), "r1"))
	noError(t, l.DeleteRace(t.Context(), "r1"))
	got, err := l.Races(t.Context(), nil)
	noError(t, err)
	equal(t, len(got), 0)
	// Nothing of the old one is left to be in the way.
	noError(t, l.AddRace(t.Context(), Race("r1", "fix", 1000, 0)))
}

func raceNameIsUniquePerOwner(t *testing.T, l forkbox.Ledger) {
	noError(t, l.AddRace(t.Context(), Race("r1", "fix", 1000, 0)))
	hasCode(t, l.AddRace(t.Context(), Race("r2", "fix", 1000, 0)), forkbox.Exists)
	noError(t, l.AddRace(t.Context(), Race("r3", "fix", 7, 0)))
	noError(t, l.AddRace(t.Context(), Race("r4", "other", 1000, 0)))
	taken := Race("r4", "fix", 1000, 0)
	hasCode(t, l.UpdateRace(t.Context(), taken), forkbox.Exists)
	found, err := l.FindRaces(t.Context(), 1000, "r4")
	noError(t, err)
	equal(t, found, []forkbox.Race{Race("r4", "other", 1000, 0)}) // as it was
}

// entriesAreSavedTogether: one that is not there leaves the others as they are.
func entriesAreSavedTogether(t *testing.T, l forkbox.Ledger) {
	want := Race("r1", "fix", 1000, 0)
	noError(t, l.AddRace(t.Context(), want))
	changed := want.Entries[0]
	changed.Why = "changed"
	hasCode(t, l.SaveEntries(t.Context(), "r1", []forkbox.Entry{changed, entry("nobody")}), forkbox.NotFound)
	hasCode(t, l.SaveEntries(t.Context(), "r2", []forkbox.Entry{changed}), forkbox.NotFound)
	hasCode(t, l.UpdateRace(t.Context(), Race("r2", "other", 1000, 0)), forkbox.NotFound)
	got, err := l.Races(t.Context(), nil)
	noError(t, err)
	equal(t, got, []forkbox.Race{want})
}

func racesByOwnerAndState(t *testing.T, l forkbox.Ledger) {
	finished := Race("r2", "two", 1, time.Second)
	finished.State = forkbox.RaceFinished
	for _, r := range []forkbox.Race{Race("r3", "three", 1, 2*time.Second), finished, Race("r1", "one", 1, 0), Race("r4", "four", 2, 3*time.Second)} {
		noError(t, l.AddRace(t.Context(), r))
	}
	one, three := 1, 3
	for _, c := range []struct {
		uid    *int
		states []forkbox.RaceState
		want   string
	}{
		{nil, nil, "r4 r3 r2 r1"},
		{&one, nil, "r3 r2 r1"},
		{&three, nil, ""},
		{nil, []forkbox.RaceState{forkbox.RaceRunning}, "r4 r3 r1"},
		{&one, []forkbox.RaceState{forkbox.RaceRunning}, "r3 r1"},
		{nil, []forkbox.RaceState{forkbox.RaceFinished, forkbox.RaceFailed}, "r2"},
	} {
		got, err := l.Races(t.Context(), c.uid, c.states...)
		noError(t, err)
		equal(t, raceIDs(got), c.want)
	}
}

func findRaces(t *testing.T, l forkbox.Ledger) {
	for i, r := range []forkbox.Race{
		Race("aa", "fix", 1, 0), Race("ab", "fix-it", 1, time.Second), Race("fix9", "zz", 1, 2*time.Second), Race("ac", "fix", 2, time.Hour),
	} {
		r.Entries = r.Entries[:i%3] // one without any, too
		noError(t, l.AddRace(t.Context(), r))
	}
	for prefix, want := range map[string]string{
		"fix": "aa fix9 ab", "": "fix9 ab aa", "a": "ab aa", "fix-": "ab", "ac": "", "Fix": "", "%": "",
	} {
		got, err := l.FindRaces(t.Context(), 1, prefix)
		noError(t, err)
		equal(t, raceIDs(got), want)
	}
}

func raceIDs(list []forkbox.Race) string {
	var ids []string
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return strings.Join(ids, " ")
}
