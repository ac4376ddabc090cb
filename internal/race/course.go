package race

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/rank"
)

// run is a race from its beginning to its end.
func (r *race) run() {
	err := r.tryAndJudge()
	r.endContexts()
	if errors.Is(err, errClosing) || r.closing() {
		r.keepEntries() // the next daemon goes on
	} else {
		r.conclude(err)
	}
	r.Races.mu.Lock()
	delete(r.live, r.id)
	r.ended++
	prune := r.ended%pruneEvery == 1
	r.Races.mu.Unlock()
	close(r.over)
	if r.closing() {
		return
	}
	r.inBackground(r.restBoxes)
	if prune {
		r.inBackground(func() { r.prune(r.who) })
	}
}

// tryAndJudge runs the approaches and judges them. An error is why there is no
// verdict.
func (r *race) tryAndJudge() error {
	if err := r.runSetup(); err != nil {
		return err
	}
	defer r.restoreAll() // also where it was cancelled or given up: any box may land
	r.tryAll()
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	if r.spec.Stop != forkbox.StopFirstPass {
		r.measureAll()
		r.confirmLeader()
	}
	return context.Cause(r.ctx)
}

// tryAll runs the approaches, as many at a time as there is room for, and
// returns when all are judged.
func (r *race) tryAll() {
	order := shuffled(len(r.spec.Approaches), r.spec.Seed, 0)
	slots := make(chan struct{}, max(1, len(order)))
	if n := r.spec.Parallel; n > 0 {
		slots = make(chan struct{}, n)
	}
	var all sync.WaitGroup
	for _, i := range order {
		select {
		case slots <- struct{}{}:
		case <-r.trial.Done(): // it finds out by itself
		}
		all.Go(func() {
			r.try(i)
			select {
			case <-slots:
			default:
			}
		})
	}
	all.Wait()
}

// shuffled is a random order of n, the same for the same seed and turn.
func shuffled(n int, seed int64, turn uint64) []int {
	return rand.New(rand.NewPCG(uint64(seed), turn)).Perm(n)
}

// conclude records how a race ended, and tells its followers.
func (r *race) conclude(err error) {
	rec := r.record()
	switch {
	case errors.Is(err, errCancelled):
		rec.State, rec.Why = forkbox.RaceCancelled, errCancelled.Error()
	case err != nil:
		rec.State, rec.Why = forkbox.RaceFailed, explain(err)
	default:
		rec.State, rec.Why = forkbox.RaceFinished, ""
		rec.Entries, rec.Winner, rec.Verdict = rank.Rank(r.spec, rec.Entries)
		rec.Notes = append(rec.Notes, r.describeDrift()...)
	}
	rec.Ended = r.now()
	for i, e := range rec.Entries { // those that were never tried
		if e.Outcome == "" {
			e.Phase, e.Outcome, e.Why = forkbox.PhaseDone, forkbox.OutcomeCancelled, "the race ended before it began"
			rec.Entries[i] = e
		}
	}
	r.mu.Lock()
	r.rec = rec
	r.tellLater(r.endEvent(rec))
	r.mu.Unlock()
	if err := r.keepRace(true); err != nil {
		// It is still "running" there: the next daemon finds what came of it,
		// unless there is room on the disk again before.
		r.log.Error("cannot record the end of a race", "race", r.id, "error", err)
		r.inBackground(r.keepEnd)
	}
	r.tellEnd()
}

// endEvent is the event of a race that is over.
func (r *race) endEvent(rec forkbox.Race) forkbox.Event {
	if rec.State == forkbox.RaceCancelled {
		return r.about(rec, forkbox.EventRaceCancelled, rec.Why, forkbox.EventData{Cause: string(rec.State)})
	}
	text := rec.Why
	if text == "" && rec.Winner != "" {
		text = rec.Winner + " won"
	} else if text == "" {
		text = "no approach won"
	}
	return r.about(rec, forkbox.EventRaceEnded, text, forkbox.EventData{Cause: string(rec.State), To: rec.Winner})
}

// explain is an error as it is recorded: with what helps.
func explain(err error) string {
	text := err.Error()
	var known *forkbox.Error
	if errors.As(err, &known) {
		for _, h := range known.Hints {
			text += "; " + h
		}
	}
	return text
}

// restAfter is how long the boxes of a race outlive it: a client that waits for
// the race hears of its end first.
const restAfter = 50 * time.Millisecond

// restBoxes stops the boxes that are done with, in the background. A landing
// that runs the checks of one again comes first. After a crash [Races.Resume]
// does it.
func (r *race) restBoxes() {
	select {
	case <-time.After(restAfter):
	case <-r.Races.ctx.Done():
	}
	done, err := r.takeTurn(r.Races.ctx, r.id)
	if err != nil {
		return
	}
	defer done()
	var all sync.WaitGroup
	for _, b := range r.tries {
		if b != nil {
			all.Go(b.retire)
		}
	}
	all.Wait()
}

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
// before the owner should look at the host.
const mostLost = 3

// try has an approach run until it is judged, or out of the race.
func (r *race) try(i int) {
	if r.entry(i).Outcome != "" { // before the daemon died
		b := r.takeFound(i)
		if r.setLane(i, b); b != nil {
			b.judgeAnew()
		}
		return
	}
	for lost := 0; ; {
		b, f := r.attemptOnce(i)
		r.setLane(i, b)
		switch {
		case f.left || r.closing():
			return
		case f.lost && lost < mostLost:
			lost++
		case f.failed && r.entry(i).Attempt <= r.spec.Retries && r.trial.Err() == nil:
		default:
			r.recordEnd(i, b, f)
			return
		}
		if err := r.beginAnew(i, b, f); err != nil {
			r.recordEnd(i, b, fateOf(err))
			return
		}
	}
}

// setLane notes the box of an approach.
func (r *race) setLane(i int, b *lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries[i] = b
}

// attemptOnce runs an approach once.
func (r *race) attemptOnce(i int) (*lane, fate) {
	b, err := r.findOrMakeLane(i)
	if err != nil {
		f := fateOf(r.blame(r.trial, err))
		if f.outcome == forkbox.OutcomeTimedOut {
			f.why = "the race's deadline came before there was room for it"
		}
		return b, f
	}
	f, err := b.run(r.trial)
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

// beginAnew has an approach begin again. That is written down before its box goes:
// the next daemon must not take what is left of it for a new one.
func (r *race) beginAnew(i int, b *lane, f fate) error {
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
	r.setLane(i, nil)
	return b.remove()
}

// recordEnd records what became of an approach.
func (r *race) recordEnd(i int, b *lane, f fate) {
	good := f.outcome == forkbox.OutcomePassed || f.outcome == forkbox.OutcomeFlaky
	if b != nil && !good {
		b.leaveBox(f)
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
		done := r.about(r.rec, forkbox.EventApproachDone, e.Name+": "+string(e.Outcome), forkbox.EventData{Cause: string(e.Outcome), To: e.Name})
		done.Box = e.Box
		r.tellLater(done)
	})
	if b != nil {
		r.mu.Lock()
		b.judged = true
		r.mu.Unlock()
	}
}

// leaveBox stops the box of an approach that is out of the race.
func (b *lane) leaveBox(f fate) {
	if f.outcome == forkbox.OutcomeCancelled || f.outcome == forkbox.OutcomeTimedOut {
		b.meter.update(b)
		b.halt() // its command may go on
	}
	b.restore()
}
