//go:build linux

package main

import (
	"math"
	"slices"
	"testing"
)

// TestRaceScores has checks that need not pass: they add to a score, by their
// weight.
func TestRaceScores(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	for name, c := range map[string]contest{
		"weights": {
			file: `
approaches:
  - {name: heavy, run: touch heavy}
  - {name: light, run: touch light}
  - {name: both, run: 'seq 100 > heavy; cp heavy light'}
checks:
  - {run: test -e heavy, must: false, weight: 3}
  - {run: test -e light, must: false, weight: 0.5}
`,
			order: "both heavy light", became: "both:passed heavy:passed light:passed", winner: "both",
		},
		"must comes before any score": {
			file: `
approaches:
  - {name: pretty, run: touch lint style}
  - {name: works, run: touch works}
checks:
  - test -e works
  - {run: test -e lint, must: false, weight: 100}
  - {run: test -e style, must: false, weight: 100}
`,
			order: "works pretty", became: "pretty:failed works:passed", winner: "works",
		},
		"numbers that checks print": {
			file: `
approaches:
  - {name: low, run: 'echo 20 > n'}
  - {name: high, run: 'echo 90 > n'}
  - {name: silly, run: 'echo nothing > n'}
checks:
  - {run: 'echo score: 5; echo "score: $(cat n)"', must: false, score: {pattern: 'score: ([0-9.]+)'}, of: 100}
`,
			order: "high low silly", became: "high:passed low:passed silly:passed", winner: "high",
		},
	} {
		t.Run(name, func(t *testing.T) { w.as(t).decides(c) })
	}
}

// TestRaceScoreIsTheWeightedMean looks at the figure itself.
func TestRaceScoreIsTheWeightedMean(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	r := w.raceOf(`
approaches: [{name: a, run: 'true'}]
checks:
  - {run: 'echo 30', must: false, score: {pattern: '[0-9]+'}, of: 100, weight: 2}
  - {run: 'true', must: false, weight: 1}
  - {run: 'false', must: false, weight: 1, once: true}
`)
	if s := w.entry(r, "a").Score; math.Abs(s-(0.3*2+1)/4) > 1e-9 {
		t.Errorf("the score is %v: %s", s, told(r))
	}
	if runs := len(w.entry(r, "a").Checks[2].Runs); runs != 1 {
		t.Errorf("a check that is to run once ran %d times", runs)
	}
}

// TestRaceNumbers compares by numbers from output, a file and a JSON document.
func TestRaceNumbers(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	const approaches = `
approaches:
  - {name: ten, run: 'echo 10 > n; mkdir d; echo 1.5 > d/size; echo ''{"a":[{"p99":7}]}'' > j'}
  - {name: nine, run: 'echo 9 > n; mkdir d; echo 2.5 > d/size; echo ''{"a":[{"p99":8}]}'' > j'}
checks: ["true"]
metrics:
`
	const passed = "nine:passed ten:passed"
	for name, c := range map[string]contest{
		"lower":     {file: "  - {name: n, run: cat n}", order: "nine ten", winner: "nine"},
		"higher":    {file: "  - {name: n, run: cat n, better: higher}", order: "ten nine", winner: "ten"},
		"a file":    {file: "  - {name: size, file: d/size}", order: "ten nine", winner: "ten"},
		"a pattern": {file: "  - {name: n, run: 'echo v=99; echo v=$(cat n)', pattern: 'v=(\\d+)'}", order: "nine ten", winner: "nine"},
		"json":      {file: "  - {name: p99, run: cat j, json: 'a[0].p99', unit: ms}", order: "ten nine", winner: "ten"},
		"the first that differs decides": {
			file: "  - {name: same, run: echo 1}\n  - {name: n, run: cat n}\n  - {name: size, file: d/size}", order: "nine ten", winner: "nine"},
		"within the tolerance": {
			file: "  - {name: n, run: cat n, tolerance: 20%}\n  - {name: size, file: d/size}", order: "ten nine", winner: "ten"},
	} {
		c.file, c.became = approaches+c.file+"\n", passed
		t.Run(name, func(t *testing.T) { w.as(t).decides(c) })
	}
}

// TestRaceNumberMissing puts those last who have no number, and says why.
func TestRaceNumberMissing(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	r := w.raceOf(`
approaches:
  - {name: none, run: 'true'}
  - {name: word, run: 'echo NaN > n'}
  - {name: some, run: 'echo 5 > n'}
checks: ["true"]
metrics: [{name: n, file: n}]
`)
	if r.Winner != "some" || r.Entries[0].Name != "some" {
		t.Errorf("%s", told(r))
	}
	for _, name := range []string{"none", "word"} {
		if m := w.entry(r, name).Metrics; len(m) != 1 || m[0].Why == "" || len(m[0].Values) != 0 {
			t.Errorf("%s has %+v", name, m)
		}
	}
}

// TestRaceTimes measures a command again and again: who sleeps visibly longer
// comes later. Nothing else about the times is known here.
func TestRaceTimes(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	r := w.raceOf(`
approaches:
  - {name: slow, run: 'echo sleep 0.7 > work'}
  - {name: quick, run: 'echo sleep 0.01 > work'}
  - {name: wrong, run: 'echo sleep 0 > work; touch wrong'}
checks: [test ! -e wrong]
metrics:
  - {name: work, time: sh work, runs: 5, warmup: 1, most: 6, budget: 60s}
`)
	w.is(r, "quick slow wrong", "quick:passed slow:passed wrong:failed")
	for _, name := range []string{"quick", "slow"} {
		m := w.entry(r, name).Metrics
		if len(m) != 1 || len(m[0].Values) < 5 || m[0].Unit != "s" || m[0].Low > m[0].Median || m[0].Median > m[0].High {
			t.Errorf("%s was measured so: %+v", name, m)
		}
		if sorted := slices.Sorted(slices.Values(m[0].Values)); sorted[0] <= 0 {
			t.Errorf("%s took %v", name, sorted)
		}
	}
	if m := w.entry(r, "wrong").Metrics; len(m) > 0 && len(m[0].Values) > 0 {
		t.Errorf("who failed was measured: %+v", m)
	}
}
