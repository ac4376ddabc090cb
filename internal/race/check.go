package race

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/rank"
)

// checkRuns is how often a check is run whose results are in doubt: so often
// that there is a majority.
const checkRuns = 3

func newChecked(c forkbox.RaceCheck) forkbox.Checked {
	weight := c.Weight
	if weight == 0 {
		weight = 1
	}
	return forkbox.Checked{Name: title(c.Command), Must: c.Must, Weight: weight, Runs: []forkbox.Ran{}}
}

// check runs one check, and one that fails again: it may be flaky.
func (b *bench) check(ctx context.Context, n int) error {
	spec := b.spec.Checks[n]
	b.jot(b.i, func(e *forkbox.Entry) { e.Checks = append(e.Checks, newChecked(spec)) })
	for run := 1; run <= checkRuns; run++ {
		r, err := b.runCheck(ctx, n, b.label("check", n, run))
		if err != nil {
			return err
		}
		b.noteCheck(n, r)
		if run == 1 && (spec.Once || r.passed()) {
			return nil
		}
	}
	return nil
}

// checkRun is what came of one run of a check.
type checkRun struct {
	ran   forkbox.Ran
	score []float64 // where it gives one
	why   string
}

func (r checkRun) passed() bool { return r.ran.Exit.Code == 0 }

// runCheck runs a check once.
func (b *bench) runCheck(ctx context.Context, n int, label string) (r checkRun, err error) {
	spec := b.spec.Checks[n]
	x, err := b.do(ctx, label, spec.Command, 0)
	if err != nil {
		return r, err
	}
	r.ran = ran(spec.Command, x)
	r.score, r.why, err = b.score(ctx, label, spec, x)
	return r, err
}

// noteCheck adds a run to what came of a check.
func (b *bench) noteCheck(n int, r checkRun) {
	b.edit(b.i, func(e *forkbox.Entry) {
		c := &e.Checks[n]
		c.Runs, c.Scores = append(c.Runs, r.ran), append(c.Scores, r.score...)
		c.Why = orElse(r.why, c.Why)
		rank.Settle(c)
	})
}

// score is the one that a run of a check got, where it gives any. Without a
// number it is zero.
func (b *bench) score(ctx context.Context, label string, spec forkbox.RaceCheck, x forkbox.Exec) (score []float64, why string, err error) {
	if spec.Score == nil {
		return nil, "", nil
	}
	number, why, err := b.number(ctx, label, spec.Command, *spec.Score, x)
	if err != nil || why != "" {
		return []float64{0}, why, err
	}
	return []float64{rank.Share(spec, number)}, "", nil
}
