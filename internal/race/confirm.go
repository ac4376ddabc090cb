package race

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/rank"
)

// unconfirmed are the checks that are to be run for the n-th time: they have
// passed, but only once, or in one of two runs.
func (b *lane) unconfirmed(run int) (list []int) {
	for n, c := range b.entry(b.i).Checks {
		if !b.spec.Checks[n].Once && len(c.Runs) == run-1 && (run == 2 && c.Passed || run == 3 && halfway(c)) {
			list = append(list, n)
		}
	}
	return list
}

// halfway says that a check has passed once and failed once when it was to be
// confirmed: one more run decides.
func halfway(c forkbox.Checked) bool { return len(c.Runs) == 2 && c.Flaky }

// isHalfway says whether the approach was confirming something when its daemon
// died.
func (b *lane) isHalfway() bool { return slices.ContainsFunc(b.entry(b.i).Checks, halfway) }

// confirm runs the checks again that have passed only once, until there is a
// majority. Each run counts, and is noted when it ends: one that fails is not
// made good by another that passes.
func (b *lane) confirm(ctx context.Context) error {
	for run := 2; run <= checkRuns; run++ {
		list := b.unconfirmed(run)
		if len(list) == 0 {
			continue
		}
		if err := b.repeat(ctx, list, run); err != nil {
			return err
		}
	}
	return nil
}

// repeat runs checks once more. What checks have written may have them fail, so
// where that can be, the box is as its steps left it before, and all are run in
// their order: one may need what another wrote.
func (b *lane) repeat(ctx context.Context, list []int, run int) error {
	kind, which := "check", list
	switch clean, err := b.refresh(ctx, list, run); {
	case err != nil:
		return err
	case clean:
		kind, which = "clean", all(len(b.spec.Checks))
	}
	for _, n := range which {
		r, err := b.runCheck(ctx, n, b.label(kind, n, run))
		if err != nil {
			return err
		}
		if slices.Contains(list, n) {
			b.noteCheck(n, r)
		}
	}
	return nil
}

// all are the numbers below n.
func all(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// refresh rolls the box back to what its steps left, and says whether it is
// that now. An earlier daemon may have begun this run, refreshed or not.
func (b *lane) refresh(ctx context.Context, list []int, run int) (clean bool, err error) {
	if _, began := b.known[b.label("clean", 0, run)]; began {
		return true, nil
	}
	for _, n := range list {
		if _, began := b.known[b.label("check", n, run)]; began {
			return false, nil
		}
	}
	if !b.canRefresh(ctx) {
		return false, nil
	}
	if err := b.rollBack(b.entry(b.i).Saved); err != nil || len(b.entry(b.i).Protected) == 0 {
		return true, err
	}
	return true, b.putBack(ctx)
}

// canRefresh says whether the box can be as its steps left it without anything
// being missed: something that they have started would end, and what a check
// wrote that is run only once may be what others need.
func (b *lane) canRefresh(ctx context.Context) bool {
	if slices.ContainsFunc(b.spec.Checks, func(c forkbox.RaceCheck) bool { return c.Once }) {
		return false
	}
	return !b.occupied(ctx)
}

// confirmLeader checks the leader again in what it passed only once, until the
// leader is one that is confirmed.
func (r *race) confirmLeader() {
	for range 2 * len(r.spec.Approaches) {
		b := r.toConfirm()
		if b == nil {
			return
		}
		name := b.approachName()
		if r.trial.Err() != nil {
			r.note("the checks of " + name + " were not repeated: " + line(context.Cause(r.trial).Error()))
			b.settle()
			return
		}
		if b.isCut() {
			r.note("the checks of " + name + " were not repeated: what its steps had started was ended to make room for others")
			b.settle()
			return
		}
		r.setPhase(b.i, forkbox.PhaseChecking)
		err := b.confirm(r.trial)
		if err != nil && r.closing() {
			return
		}
		b.meter.update(b)
		b.settle()
		if err != nil {
			r.note("the checks of " + name + " could not be repeated: " + line(b.blame(r.trial, err).Error()))
			return
		}
	}
}

// toConfirm is the lane that is to be checked again: one that was when its
// daemon died, or the leader where it has passed something only once. It is nil
// when there is none.
func (r *race) toConfirm() *lane {
	for _, b := range r.tries {
		if b != nil && b.isHalfway() {
			return b
		}
	}
	_, winner, _ := rank.Rank(r.spec, r.record().Entries)
	i := r.indexOf(winner)
	if i < 0 || r.tries[i] == nil || len(r.tries[i].unconfirmed(2)) == 0 {
		return nil
	}
	return r.tries[i]
}

// settle has the outcome be what all runs of the checks say.
func (b *lane) settle() {
	f := b.verdict()
	b.edit(b.i, func(e *forkbox.Entry) { e.Phase, e.Outcome, e.Why = forkbox.PhaseDone, f.outcome, f.why })
}

// judgeAnew makes the outcome of an approach that an earlier daemon has judged
// from the runs that it noted: it may have died between the two. One that is
// halfway is still to be confirmed.
func (b *lane) judgeAnew() {
	e := b.entry(b.i)
	switch e.Outcome {
	case forkbox.OutcomePassed, forkbox.OutcomeFlaky, forkbox.OutcomeFailed:
		if f := b.verdict(); len(e.Checks) > 0 && !b.isHalfway() {
			b.edit(b.i, func(e *forkbox.Entry) { e.Outcome, e.Why = f.outcome, f.why })
		}
	}
}

// indexOf is the place of an approach in the list, below zero if there is none.
func (r *race) indexOf(name string) int {
	for i, a := range r.spec.Approaches {
		if a.Name == name {
			return i
		}
	}
	return -1
}
