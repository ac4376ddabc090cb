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
	defer r.starts(i)
	if r.entry(i).Outcome != "" { // before the daemon died
		r.tries[i] = r.take(i)
		return
	}
	for lost := 0; ; {
		b, f := r.attempt(i)
		r.tries[i] = b
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

// attempt runs an approach once.
func (r *race) attempt(i int) (*bench, fate) {
	b, err := r.place(i)
	if err != nil {
		return b, fateOf(r.blame(r.trial, err))
	}
	f, err := b.perform(r.trial)
	if err != nil {
		f = fateOf(r.blame(r.trial, err))
	}
	return b, f
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
	r.tries[i] = nil
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
			e.CPU, e.MemoryPeak = max(e.CPU, b.meter.cpu()), max(e.MemoryPeak, b.meter.peak)
		}
	})
	if b != nil {
		r.standBy(b)
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
