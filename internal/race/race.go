package race

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
)

// race is one that runs: its boxes, and when it ends.
type race struct {
	scorecard
	spec forkbox.RaceSpec
	// trial ends with ctx, at the deadline, and when an approach has won by
	// passing first: what is tried and measured ends then, and is judged.
	trial           context.Context
	cancel, settled context.CancelCauseFunc
	release         context.CancelFunc // the timer of the deadline
	over            chan struct{}      // closed when its end is recorded, or left to the next daemon
	found           map[string]*lane

	// mu of the scorecard guards both.
	tries  []*lane // by approach; nil where there is no box
	passed bool    // an approach has passed first
}

func (r *Races) newRace(rec forkbox.Race) *race {
	run := &race{
		scorecard: scorecard{Races: r, id: rec.ID, name: rec.Name, who: rec.Owner, rec: rec},
		spec:      rec.Spec, over: make(chan struct{}), release: func() {},
		found: map[string]*lane{}, tries: make([]*lane, len(rec.Spec.Approaches)),
	}
	run.audience.init()
	run.ctx, run.cancel = context.WithCancelCause(r.ctx)
	limited := run.ctx
	if rec.Spec.Deadline > 0 {
		limited, run.release = context.WithDeadlineCause(run.ctx, rec.Created.Add(rec.Spec.Deadline), errDeadline)
	}
	run.trial, run.settled = context.WithCancelCause(limited)
	return run
}

// patience is how long an approach waits for room, in nanoseconds.
func (r *race) patience() *int64 {
	left := int64(24 * time.Hour)
	if at, ok := r.trial.Deadline(); ok {
		left = max(0, int64(time.Until(at)))
	}
	return &left
}

// endContexts ends its contexts, when they have served.
func (r *race) endContexts() {
	r.settled(errCancelled)
	r.release()
	r.cancel(errCancelled)
}
