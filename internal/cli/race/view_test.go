package race

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
	"pgregory.net/rapid"
)

func boardOf(names ...string) *raceBoard {
	race := forkbox.Race{Name: "fix", Created: time.Unix(1000, 0)}
	for _, name := range names {
		race.Entries = append(race.Entries, forkbox.Entry{Name: name, Phase: forkbox.PhaseWaiting})
	}
	b := &raceBoard{}
	b.take(forkbox.RaceEvent{Kind: forkbox.RaceBegins, Record: &race})
	return b
}

func (b *raceBoard) now(e forkbox.Entry) {
	b.take(forkbox.RaceEvent{Kind: forkbox.RaceEntry, Approach: e.Name, Entry: &e})
}

func exited(code int) forkbox.Ran { return forkbox.Ran{Exit: &forkbox.Exit{Code: code}} }

func TestBoardShowsWhatIsKnown(t *testing.T) {
	b := boardOf("dep", "patch", "revert")
	began := time.Unix(1000, 0)
	b.now(forkbox.Entry{Name: "dep", Phase: forkbox.PhaseRunning, Started: began})
	b.take(forkbox.RaceEvent{Kind: forkbox.RaceOutput, Approach: "dep", Line: "added 3 packages"})
	b.take(forkbox.RaceEvent{Kind: forkbox.RaceUsage, Approach: "dep", CPU: 87.4, Memory: 120 << 20})
	b.take(forkbox.RaceEvent{Kind: forkbox.RaceNote, Line: "waiting for room"})
	b.now(forkbox.Entry{Name: "patch", Phase: forkbox.PhaseChecking, Started: began, Checks: []forkbox.Checked{
		{Passed: true, Runs: []forkbox.Ran{exited(0)}}, {Runs: []forkbox.Ran{exited(1)}},
		{Passed: true, Flaky: true, Runs: []forkbox.Ran{exited(0), exited(1)}}, {Runs: []forkbox.Ran{{}}},
	}})
	got := b.render(raceRoom{cols: 100, rows: 20}, began.Add(2500*time.Millisecond))
	want := []string{
		"race fix   3 approaches: 2 active, 0 done, 1 waiting   2.5s",
		"waiting for room",
		"dep     running       2.5s     87%     120m  added 3 packages",
		"patch   checking      2.5s      0%        -  ✓✗~·",
		"revert  waiting          -       -        -",
	}
	for i := range got {
		got[i] = strings.TrimRight(got[i], " ")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestBoardHasNoRowForTheSetup: it is no approach.
func TestBoardHasNoRowForTheSetup(t *testing.T) {
	b := boardOf("dep")
	b.take(forkbox.RaceEvent{Kind: forkbox.RaceOutput, Line: "installing"})
	b.take(forkbox.RaceEvent{Kind: forkbox.RaceUsage, CPU: 50})
	got := b.render(raceRoom{cols: 100, rows: 20}, time.Unix(1001, 0))
	if len(got) != 2 || got[0] != "race fix   1 approach: 0 active, 0 done, 1 waiting   1.0s" {
		t.Errorf("%q", got)
	}
}

// TestBoardHasTheActiveOnesFirst where there is no room for all.
func TestBoardHasTheActiveOnesFirst(t *testing.T) {
	var names []string
	for i := range 50 {
		names = append(names, string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	b := boardOf(names...)
	for i, name := range names {
		switch {
		case i < 10:
			b.now(forkbox.Entry{Name: name, Phase: forkbox.PhaseDone, Outcome: forkbox.OutcomePassed})
		case i >= 46:
			b.now(forkbox.Entry{Name: name, Phase: forkbox.PhaseRunning})
		}
	}
	got := b.render(raceRoom{cols: 80, rows: 7}, time.Unix(1000, 0))
	if len(got) != 7 || got[6] != "… 45 more: 35 waiting, 10 done" {
		t.Fatalf("%q", got)
	}
	for i, name := range append(slices.Clone(names[46:]), names[10]) {
		if !strings.HasPrefix(got[1+i], name+" ") {
			t.Errorf("row %d is %q, not %s", i, got[1+i], name)
		}
	}
}

var paintCodes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestBoardFitsWhateverItIsTold: no line is longer than the terminal, there are
// not more lines than it has, and nothing but our own colours is there for it
// to obey.
func TestBoardFitsWhateverItIsTold(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b[2J\x1b]0;x\a", "\xff\xfe", "日本語日本語日本語", "a\u202eb", "\r\n\t", "👩‍👩‍👧‍👦", strings.Repeat("x", 5000), "é́́"}))
	rapid.Check(t, func(t *rapid.T) {
		b := boardOf(rapid.SliceOfN(text, 0, 12).Draw(t, "names")...)
		b.name = text.Draw(t, "race")
		for range rapid.IntRange(0, 8).Draw(t, "events") {
			b.take(drawEvent(t, text))
		}
		room := raceRoom{cols: rapid.IntRange(-1, 120).Draw(t, "cols"), rows: rapid.IntRange(-1, 20).Draw(t, "rows"), colour: rapid.Bool().Draw(t, "colour")}
		lines := b.render(room, time.Unix(2000, 0))
		if len(lines) > max(room.rows, 0) {
			t.Fatalf("%d lines in %d rows", len(lines), room.rows)
		}
		for _, line := range lines {
			plain := paintCodes.ReplaceAllString(line, "")
			if terminal.CellsOf(plain) > room.cols || !room.colour && plain != line {
				t.Fatalf("%d cells in %d: %q", terminal.CellsOf(plain), room.cols, line)
			}
			if strings.ContainsFunc(plain, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("a terminal would obey %q", plain)
			}
		}
	})
}

func drawEvent(t *rapid.T, text *rapid.Generator[string]) forkbox.RaceEvent {
	name := text.Draw(t, "name")
	phases := []forkbox.Phase{forkbox.PhaseWaiting, forkbox.PhaseForking, forkbox.PhaseRunning, forkbox.PhaseChecking, forkbox.PhaseMeasuring, forkbox.PhaseDone, "\x1b"}
	entry := forkbox.Entry{
		Name: name, Phase: rapid.SampledFrom(phases).Draw(t, "phase"), Why: text.Draw(t, "why"), Started: time.Unix(1500, 0),
		Outcome: forkbox.Outcome(rapid.SampledFrom([]string{"", "passed", "failed"}).Draw(t, "outcome")),
		Checks:  make([]forkbox.Checked, rapid.IntRange(0, 20).Draw(t, "checks")),
		Metrics: []forkbox.Measured{{Name: text.Draw(t, "metric"), Unit: text.Draw(t, "unit"), Values: []float64{1, 2}, Median: rapid.Float64().Draw(t, "median")}},
	}
	return forkbox.RaceEvent{
		Kind:     rapid.SampledFrom([]forkbox.RaceEventKind{forkbox.RaceEntry, forkbox.RaceOutput, forkbox.RaceUsage, forkbox.RaceNote}).Draw(t, "kind"),
		Approach: name, Entry: &entry, Line: text.Draw(t, "line"), CPU: rapid.Float64().Draw(t, "cpu"), Memory: rapid.Int64().Draw(t, "memory"),
	}
}

// TestPlainLines: without a terminal a race is a line for what happens.
func TestPlainLines(t *testing.T) {
	var out bytes.Buffer
	v := &raceLines{out: &out, paint: func(_ terminal.Colour, text string) string { return text }}
	race := forkbox.Race{Name: "fix", State: forkbox.RaceRunning, Entries: []forkbox.Entry{{Name: "dep", Phase: forkbox.PhaseWaiting}}}
	tell := func(e forkbox.Entry) { v.take(forkbox.RaceEvent{Kind: forkbox.RaceEntry, Entry: &e}) }
	v.take(forkbox.RaceEvent{Kind: forkbox.RaceBegins, Record: &race})
	v.take(forkbox.RaceEvent{Kind: forkbox.RaceNote, Line: "setup: npm ci\x1b[2J"})
	e := forkbox.Entry{Name: "dep", Phase: forkbox.PhaseForking, Attempt: 1}
	tell(e)
	e.Phase = forkbox.PhaseRunning
	tell(e)
	v.take(forkbox.RaceEvent{Kind: forkbox.RaceOutput, Approach: "dep", Line: "never shown"})
	tell(e)
	e.Phase, e.Checks = forkbox.PhaseChecking, []forkbox.Checked{{Name: "npm test", Runs: []forkbox.Ran{{}}}}
	tell(e)
	e.Checks = []forkbox.Checked{{Name: "npm test", Runs: []forkbox.Ran{exited(1)}, Why: "no tests"}}
	tell(e)
	e.Checks = []forkbox.Checked{{Name: "npm test", Passed: true, Flaky: true, Runs: []forkbox.Ran{exited(1), exited(0), exited(0)}}}
	tell(e)
	v.take(forkbox.RaceEvent{Kind: forkbox.RaceBegins, Record: &forkbox.Race{Name: "fix", State: forkbox.RaceRunning, Entries: []forkbox.Entry{e}}})
	e.Phase, e.Outcome, e.Took, e.Why = forkbox.PhaseMeasuring, forkbox.OutcomeFlaky, 3200*time.Millisecond, "npm test is flaky"
	e.Metrics = []forkbox.Measured{{Name: "build", Unit: "s", Values: []float64{1, 2}, Median: 1.1, Low: 1.08, High: 1.12}}
	tell(e)
	for range 2 { // the leader's checks are run once more
		e.Phase = forkbox.PhaseDone
		tell(e)
		e.Phase = forkbox.PhaseChecking
		tell(e)
	}
	want := `race fix: 1 approach
"setup: npm ci\x1b[2J"
dep: running
dep: check npm test failed: no tests
dep: check npm test: 2/3 runs passed
dep: measuring
dep: measured build: 1.10 ± 0.02 s
dep: done: flaky in 3.2s: npm test is flaky
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// TestJSONIsTame: what JSON lets pass and a terminal obeys is escaped, and means
// the same.
func TestJSONIsTame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\u009b31m", "\u202e", "\x7f", "\U000e0001", "\\u009b", "é"})).Draw(t, "words")
		text, err := json.Marshal(map[string]string{words: words})
		if err != nil {
			t.Fatal(err)
		}
		tamed := tameJSON(text)
		if bytes.ContainsFunc(tamed, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q", tamed)
		}
		var before, after map[string]string
		if err := errors.Join(json.Unmarshal(text, &before), json.Unmarshal(tamed, &after)); err != nil || before[words] != after[words] {
			t.Fatalf("%v: %q is %q", err, text, tamed)
		}
	})
}
