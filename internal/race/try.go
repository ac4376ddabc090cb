package race

import (
	"errors"
	"fmt"

	"github.com/forkbox/forkbox"
)

// fate is what became of an attempt.
type fate struct {
	outcome forkbox.Outcome
	why     string
	failed  bool // a step of it did: it may be tried again
	lost    bool // its box was: it begins anew
	left    bool // to the next daemon
}

// fateOf is what an error makes of an attempt.
func fateOf(err error) fate {
	f := fate{outcome: forkbox.OutcomeError, why: explain(err)}
	switch {
	case errors.Is(err, errCancelled), errors.Is(err, errNotNeeded):
		f.outcome = forkbox.OutcomeCancelled
	case errors.Is(err, errDeadline):
		f.outcome = forkbox.OutcomeTimedOut
	case errors.Is(err, errLost):
		f.lost = true
	case errors.Is(err, errClosing):
		f.left = true
	}
	return f
}

// mostLost is how often an approach begins anew because its box was lost,
// before somebody should look at the host.
const mostLost = 3

// try has an approach run until it is judged, or out of the race.
func (r *race) try(i int) {
	if r.entry(i).Outcome != "" { // before the daemon died
		b := r.take(i)
		if r.seat(i, b); b != nil {
			b.judgeAnew()
		}
		return
	}
	for lost := 0; ; {
		b, f := r.attempt(i)
		r.seat(i, b)
		switch {
		case f.left || r.closing():
			return
		case f.lost && lost < mostLost:
			lost++
		case f.failed && r.entry(i).Attempt <= r.spec.Retries && r.trial.Err() == nil:
		default:
			r.end(i, b, f)
			return
		}
		if err := r.anew(i, b, f); err != nil {
			r.end(i, b, fateOf(err))
			return
		}
	}
}

// seat notes the box of an approach.
func (r *race) seat(i int, b *bench) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries[i] = b
}

// attempt runs an approach once.
func (r *race) attempt(i int) (*bench, fate) {
	b, err := r.place(i)
	if err != nil {
		f := fateOf(r.blame(r.trial, err))
		if f.outcome == forkbox.OutcomeTimedOut {
			f.why = "the race's deadline came before there was room for it"
		}
		return b, f
	}
	f, err := b.perform(r.trial)
	if err != nil {
		if f = fateOf(r.blame(r.trial, err)); f.outcome == forkbox.OutcomeTimedOut {
			f.why = "the race's deadline came before its " + tardy(r.entry(i).Phase)
		}
	}
	return b, f
}

// tardy is what an approach had not done yet.
func tardy(p forkbox.Phase) string {
	if p == forkbox.PhaseChecking {
		return "checks had ended"
	}
	return "steps had ended"
}

// anew has an approach begin again. That is written down before its box goes:
// the next daemon must not take what is left of it for a new one.
func (r *race) anew(i int, b *bench, f fate) error {
	r.say(fmt.Sprintf("%s begins anew: %s", r.spec.Approaches[i].Name, f.why))
	r.edit(i, func(e *forkbox.Entry) {
		attempt := e.Attempt
		if f.failed {
			attempt++
		}
		*e = forkbox.Entry{Name: e.Name, Phase: forkbox.PhaseWaiting, Attempt: attempt, Started: e.Started}
	})
	if err := r.keepNow(); err != nil {
		return err
	}
	r.seat(i, nil)
	return b.remove()
}

// end records what became of an approach.
func (r *race) end(i int, b *bench, f fate) {
	good := f.outcome == forkbox.OutcomePassed || f.outcome == forkbox.OutcomeFlaky
	if b != nil && !good {
		b.leave(f)
	}
	waits := good && len(r.spec.Metrics) > 0 && r.spec.Stop != forkbox.StopFirstPass
	r.edit(i, func(e *forkbox.Entry) {
		e.Outcome, e.Why, e.Phase, e.Ended = f.outcome, f.why, forkbox.PhaseDone, r.now()
		if waits {
			e.Phase = forkbox.PhaseMeasuring
		}
		if b != nil {
			cpu, peak := b.meter.used()
			e.CPU, e.MemoryPeak = max(e.CPU, cpu), max(e.MemoryPeak, peak)
		}
	})
	if b != nil {
		r.mu.Lock()
		b.judged = true
		r.mu.Unlock()
	}
}

// leave is what is done to the box of an approach that is out of the race.
func (b *bench) leave(f fate) {
	if f.outcome == forkbox.OutcomeCancelled || f.outcome == forkbox.OutcomeTimedOut {
		b.meter.look(b)
		b.halt() // its command may go on
	}
	b.restore()
}
