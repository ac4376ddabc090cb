package race

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/rank"
)

// unconfirmed are the checks that have passed, but only once.
func (b *bench) unconfirmed() (list []int) {
	for n, c := range b.entry(b.i).Checks {
		if !b.spec.Checks[n].Once && c.Passed && len(c.Runs) == 1 {
			list = append(list, n)
		}
	}
	return list
}

// confirm runs the checks once more that have passed only once. One that fails
// now may do so because of what checks have written: then all are run again in
// the box as its steps left it, and that counts instead.
func (b *bench) confirm(ctx context.Context) error {
	list := b.unconfirmed()
	again := map[int]checkRun{}
	failed := false
	for _, n := range list {
		r, err := b.runCheck(ctx, n, b.label("check", n, 2))
		if err != nil {
			return err
		}
		again[n], failed = r, failed || !r.passed()
	}
	prefix := "check"
	if failed && b.canRefresh(ctx) {
		prefix = "clean"
		if err := b.confirmClean(ctx, again); err != nil {
			return err
		}
	}
	for _, n := range list {
		b.noteCheck(n, again[n])
		if again[n].passed() {
			continue
		}
		r, err := b.runCheck(ctx, n, b.label(prefix, n, 3))
		if err != nil {
			return err
		}
		b.noteCheck(n, r)
	}
	return nil
}

// canRefresh says whether the box can be as its steps left it without anything
// being missed: something that they have started would end, and what a check
// wrote that is run only once may be what others need.
func (b *bench) canRefresh(ctx context.Context) bool {
	if slices.ContainsFunc(b.spec.Checks, func(c forkbox.RaceCheck) bool { return c.Once }) {
		return false
	}
	ps, err := b.boxes.Processes(ctx, b.who, b.box.ID)
	return err == nil && len(ps) <= 1
}

// confirmClean runs all checks in the box as its steps left it, in their order:
// one may need what another wrote.
func (b *bench) confirmClean(ctx context.Context, again map[int]checkRun) error {
	if _, began := b.known[b.label("clean", 0, 2)]; !began { // by an earlier daemon
		if err := b.rollBack(b.entry(b.i).Saved); err != nil {
			return err
		}
	}
	for n := range b.spec.Checks {
		r, err := b.runCheck(ctx, n, b.label("clean", n, 2))
		if err != nil {
			return err
		}
		if _, wanted := again[n]; wanted {
			again[n] = r
		}
	}
	return nil
}

// confirmLeader has the one who leads confirm what it passed only once, until
// the leader is one who has.
func (r *race) confirmLeader() {
	for range r.spec.Approaches {
		_, winner, _ := rank.Rank(r.spec, r.record().Entries)
		i := r.indexOf(winner)
		if i < 0 || r.tries[i] == nil || len(r.tries[i].unconfirmed()) == 0 || r.trial.Err() != nil {
			return
		}
		b := r.tries[i]
		if b.cut {
			r.note("the checks of " + winner + " were not repeated: what its steps had started was ended to make room for others")
			return
		}
		r.phase(i, forkbox.PhaseChecking)
		err := b.confirm(r.trial)
		if err != nil && r.closing() {
			return
		}
		b.meter.look(b)
		f := b.verdict()
		r.edit(i, func(e *forkbox.Entry) { e.Phase, e.Outcome, e.Why = forkbox.PhaseDone, f.outcome, f.why })
		if err != nil {
			r.note("the checks of " + winner + " could not be repeated: " + line(err.Error()))
			return
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
