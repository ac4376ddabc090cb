package race

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/rank"
)

// run is a race from its beginning to its end.
func (r *race) run() {
	err := r.course()
	r.letGo()
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
	r.inBackground(r.rest)
	if prune {
		r.inBackground(func() { r.prune(r.who) })
	}
}

// course is all that is tried and judged. An error is why there is no verdict.
func (r *race) course() error {
	if err := r.setup(); err != nil {
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

// shuffled is the order in which chance lets n of them come: the same for the
// same seed and turn.
func shuffled(n int, seed int64, turn uint64) []int {
	return rand.New(rand.NewPCG(uint64(seed), turn)).Perm(n)
}

// conclude records how a race ended, and tells whoever follows.
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
		rec.Notes = append(rec.Notes, r.drifted()...)
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
	r.mu.Unlock()
	if err := r.keepRace(true); err != nil {
		// It is still "running" there: the next daemon finds what came of it,
		// unless there is room on the disk again before.
		r.log.Error("cannot record the end of a race", "race", r.id, "error", err)
		r.inBackground(r.keepEnd)
	}
	r.tellEnd()
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

// restAfter is how long the boxes of a race outlive it: whoever waits for the
// race hears of its end first.
const restAfter = 50 * time.Millisecond

// rest stops the boxes that are done with: the race does not wait for it. Who
// lands one of them already, and runs its checks again, comes first. After a
// crash [Races.Resume] does it.
func (r *race) rest() {
	select {
	case <-time.After(restAfter):
	case <-r.Races.ctx.Done():
	}
	done, err := r.turn(r.Races.ctx, r.id)
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
