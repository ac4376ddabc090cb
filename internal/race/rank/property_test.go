package rank

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

var (
	drawOutcome = rapid.SampledFrom([]forkbox.Outcome{forkbox.OutcomePassed, forkbox.OutcomePassed, forkbox.OutcomePassed, forkbox.OutcomeFlaky,
		forkbox.OutcomeFailed, forkbox.OutcomeBroken, forkbox.OutcomeLimited, forkbox.OutcomeCancelled, ""})
	drawScore = rapid.SampledFrom([]float64{0, 0.5, 1, 1})
	drawBreak = rapid.SampledFrom([]forkbox.TieBreak{forkbox.SmallerDiff, forkbox.FewerFiles, forkbox.Faster, forkbox.NoTieBreak})
	drawValue = rapid.Float64Range(0.9, 1.3)
)

// drawRace makes a race in which much is almost equal.
func drawRace(t *rapid.T) (forkbox.RaceSpec, []forkbox.Entry) {
	spec := forkbox.RaceSpec{TieBreaks: rapid.SliceOfNDistinct(drawBreak, 0, 3, rapid.ID).Draw(t, "breaks")}
	for i := range rapid.IntRange(0, 2).Draw(t, "metrics") {
		spec.Metrics = append(spec.Metrics, forkbox.Metric{Time: rapid.Bool().Draw(t, "time"), Higher: rapid.Bool().Draw(t, "higher"), Command: forkbox.Command{Name: fmt.Sprint("m", i)}})
	}
	var entries []forkbox.Entry
	for i := range rapid.IntRange(1, 6).Draw(t, "approaches") {
		e := drawEntry(t, spec, fmt.Sprint("a", i))
		spec.Approaches = append(spec.Approaches, forkbox.Approach{Name: e.Name})
		entries = append(entries, e)
	}
	return spec, entries
}

func drawEntry(t *rapid.T, spec forkbox.RaceSpec, name string) forkbox.Entry {
	e := forkbox.Entry{Name: name, Outcome: drawOutcome.Draw(t, "outcome"), Score: drawScore.Draw(t, "score")}
	e.Diff = forkbox.DiffSize{Plus: rapid.IntRange(0, 2).Draw(t, "plus"), Files: rapid.IntRange(0, 2).Draw(t, "files")}
	e.Took = time.Duration(rapid.IntRange(0, 10).Draw(t, "took")) * 100 * time.Millisecond
	for range spec.Metrics {
		middle := drawValue.Draw(t, "middle")
		n := rapid.SampledFrom([]int{0, 1, 3, 6, 12}).Draw(t, "n")
		var values []float64
		for range n {
			values = append(values, middle+rapid.Float64Range(0, 0.1).Draw(t, "noise"))
		}
		e.Metrics = append(e.Metrics, forkbox.Measured{Values: values})
	}
	return e
}

// TestOrderDoesNotMatter: entries come as they finished, which is chance.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, entries := drawRace(t)
		before := fmt.Sprintf("%+v", entries)
		a, winner, verdict := Rank(spec, entries)
		needs := Unsettled(spec, entries)
		if fmt.Sprintf("%+v", entries) != before {
			t.Fatal("the entries were changed")
		}
		mixed := rapid.Permutation(entries).Draw(t, "mixed")
		b, winner2, verdict2 := Rank(spec, mixed)
		if !reflect.DeepEqual(a, b) || winner != winner2 || verdict != verdict2 || !slices.Equal(needs, Unsettled(spec, mixed)) {
			t.Fatalf("%s: %s\n%s: %s", order(a), verdict, order(b), verdict2)
		}
		again, _, _ := Rank(spec, a)
		if !reflect.DeepEqual(a, again) {
			t.Fatalf("ranked again: %s, not %s", order(again), order(a))
		}
	})
}

// TestRanksAgree: they count on, ties are mutual, no worse outcome or score is
// ahead, and everything has a reason.
func TestRanksAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, entries := drawRace(t)
		ranked, winner, verdict := Rank(spec, entries)
		if len(ranked) != len(entries) || !fitForALine(verdict) {
			t.Fatalf("%d of %d: %q", len(ranked), len(entries), verdict)
		}
		if good := (&member{Entry: &ranked[0]}).good(); good != (winner == ranked[0].Name) || !good && winner != "" {
			t.Fatalf("%q wins: %+v", winner, ranked)
		}
		for i, e := range ranked {
			if i > 0 {
				follows(t, ranked[i-1], e, i)
			}
			for _, o := range ranked {
				if ties := slices.Contains(e.Ties, o.Name); ties != (o.Rank == e.Rank && o.Name != e.Name) {
					t.Fatalf("%+v", ranked)
				}
			}
		}
	})
}

// follows finds that e may come after p, at place i.
func follows(t *rapid.T, p, e forkbox.Entry, i int) {
	shares := e.Rank == p.Rank
	if !shares && e.Rank != i+1 || e.Reason == "" || !fitForALine(e.Reason) {
		t.Fatalf("%+v after %+v", e, p)
	}
	a, b := (&member{Entry: &p}).class(), (&member{Entry: &e}).class()
	if a > b || a == b && p.Score < e.Score || shares && (a != b || p.Score != e.Score) {
		t.Fatalf("%+v after %+v", e, p)
	}
}

func fitForALine(text string) bool {
	return text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// TestAWorseOneChangesNothing adds an approach that is not ahead of the winner
// in any respect.
func TestAWorseOneChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, entries := drawRace(t)
		_, winner, _ := Rank(spec, entries)
		if winner == "" {
			return
		}
		w := entries[slices.IndexFunc(entries, func(e forkbox.Entry) bool { return e.Name == winner })]
		worse := drawWorse(t, spec, w)
		spec.Approaches = append(spec.Approaches, forkbox.Approach{Name: worse.Name})
		if _, now, verdict := Rank(spec, append(slices.Clone(entries), worse)); now != winner {
			t.Fatalf("%q wins, not %q: %s", now, winner, verdict)
		}
	})
}

func drawWorse(t *rapid.T, spec forkbox.RaceSpec, than forkbox.Entry) forkbox.Entry {
	worse := forkbox.Entry{Name: "worse", Score: than.Score, Took: time.Hour, Diff: forkbox.DiffSize{Plus: 1000, Files: 1000}}
	worse.Outcome = rapid.SampledFrom([]forkbox.Outcome{than.Outcome, than.Outcome, forkbox.OutcomeFailed, forkbox.OutcomeCancelled}).Draw(t, "outcome")
	for i, m := range spec.Metrics {
		far, runs := 100.0, 0
		if m.Higher {
			far = 0.001
		}
		if len(than.Metrics[i].Values) > 0 {
			runs = rapid.IntRange(0, 12).Draw(t, "runs")
		}
		worse.Metrics = append(worse.Metrics, forkbox.Measured{Values: slices.Repeat([]float64{far}, runs)})
	}
	return worse
}

func classOf(entries []forkbox.Entry, name string) int {
	for _, e := range entries {
		if e.Name == name {
			return (&member{Entry: &e}).class()
		}
	}
	return 0
}

// TestUnsettledEnds: only leaders are named, only while they may be measured,
// and measuring those that are named comes to an end.
func TestUnsettledEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, entries := drawRace(t)
		for round := 0; ; round++ {
			needs := Unsettled(spec, entries)
			if len(needs) == 0 {
				return
			}
			if round > 200 {
				t.Fatalf("still unsettled: %v", needs)
			}
			measure(t, spec, entries, needs)
		}
	})
}

func measure(t *rapid.T, spec forkbox.RaceSpec, entries []forkbox.Entry, needs []Need) {
	_, winner, _ := Rank(spec, entries)
	for _, n := range needs {
		i := slices.IndexFunc(entries, func(e forkbox.Entry) bool { return e.Name == n.Approach })
		m := &entries[i].Metrics[n.Metric]
		_, most, _ := Plan(spec.Metrics[n.Metric])
		if len(m.Values) == 0 || len(m.Values) >= most || (&member{Entry: &entries[i]}).class() != classOf(entries, winner) {
			t.Fatalf("%+v of %+v", n, entries)
		}
		m.Values = append(slices.Clone(m.Values), drawValue.Draw(t, "more"))
	}
}
