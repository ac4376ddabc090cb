package race

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// race is one that runs.
type race struct {
	*Races
	id, name string
	who      forkbox.Owner
	spec     forkbox.RaceSpec
	// ctx ends when nothing more is to be done: the race is cancelled, or the
	// daemon ends. trial ends with it, at the deadline, and when somebody has
	// won by passing first: what is tried and measured ends then, and is judged.
	ctx, trial      context.Context
	cancel, settled context.CancelCauseFunc
	release         context.CancelFunc // the timer of the deadline
	over            chan struct{}      // closed when its end is recorded, or left to the next daemon
	found           map[string]*bench

	mu    sync.Mutex
	tries []*bench // by approach; nil where there is no box
	// rec is the record. Its entries are never changed, only replaced: whoever
	// was given one may keep it.
	rec    forkbox.Race
	passed bool // somebody has passed first
	audience
	keeping keeping
}

func (r *Races) newRace(rec forkbox.Race) *race {
	run := &race{
		Races: r, id: rec.ID, name: rec.Name, who: rec.Owner, spec: rec.Spec, rec: rec, over: make(chan struct{}), release: func() {},
		found: map[string]*bench{}, tries: make([]*bench, len(rec.Spec.Approaches)),
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

// record is the race as it is now.
func (r *race) record() forkbox.Race {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.copied()
}

// copied is the record, which the caller may keep. The caller holds mu.
func (r *race) copied() forkbox.Race {
	rec := r.rec
	rec.Entries, rec.Notes, rec.SetupRuns = slices.Clone(rec.Entries), slices.Clone(rec.Notes), slices.Clone(rec.SetupRuns)
	return rec
}

// entry is an approach as it is now.
func (r *race) entry(i int) forkbox.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rec.Entries[i]
}

// edit changes an approach and tells whoever follows.
func (r *race) edit(i int, change func(*forkbox.Entry)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.alter(i, change)
	if r.followed() {
		r.tell(forkbox.RaceEvent{Kind: forkbox.RaceEntry, Approach: e.Name, Entry: &e})
	}
}

// jot changes an approach where more is about to be changed and told.
func (r *race) jot(i int, change func(*forkbox.Entry)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alter(i, change)
}

// alter is called with mu held.
func (r *race) alter(i int, change func(*forkbox.Entry)) forkbox.Entry {
	e := cloned(r.rec.Entries[i])
	change(&e)
	r.rec.Entries[i] = e
	r.keepSoon(i)
	return e
}

// cloned is an entry that can be changed without changing the other.
func cloned(e forkbox.Entry) forkbox.Entry {
	e.Steps, e.Checks, e.Metrics = slices.Clone(e.Steps), slices.Clone(e.Checks), slices.Clone(e.Metrics)
	for i, c := range e.Checks {
		e.Checks[i].Runs, e.Checks[i].Scores = slices.Clone(c.Runs), slices.Clone(c.Scores)
	}
	for i, m := range e.Metrics {
		e.Metrics[i].Values = slices.Clone(m.Values)
	}
	return e
}

// phase says what an approach is doing.
func (r *race) phase(i int, p forkbox.Phase) {
	r.edit(i, func(e *forkbox.Entry) { e.Phase = p })
}

// note tells people something, and keeps it with the race.
func (r *race) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.rec.Notes, text) {
		return
	}
	r.rec.Notes = append(slices.Clip(r.rec.Notes), text)
	r.tell(forkbox.RaceEvent{Kind: forkbox.RaceNote, Line: line(text)})
}

// say tells whoever follows something that does not last.
func (r *race) say(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(forkbox.RaceEvent{Kind: forkbox.RaceNote, Line: line(text)})
}

// patience is how long an approach waits for room, in nanoseconds.
func (r *race) patience() *int64 {
	left := int64(24 * time.Hour)
	if at, ok := r.trial.Deadline(); ok {
		left = max(0, int64(time.Until(at)))
	}
	return &left
}

// letGo ends its contexts, when they have served.
func (r *race) letGo() {
	r.settled(errCancelled)
	r.release()
	r.cancel(errCancelled)
}

// aside is for what is to be done although a race was cancelled.
func (r *race) aside() context.Context { return context.WithoutCancel(r.ctx) }

// closing says whether the daemon ends: then nothing is decided any more.
func (r *race) closing() bool { return r.Races.ctx.Err() != nil }
