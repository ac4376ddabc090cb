package race

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// scorecard is what is known of a race that runs: its record, which is kept in
// the ledger and told to those who follow.
type scorecard struct {
	*Races
	id, name string
	who      forkbox.Owner
	// ctx ends when nothing more is to be done: the race is cancelled, or the
	// daemon ends.
	ctx context.Context

	mu sync.Mutex
	// rec is the record. Its entries are never changed, only replaced: a caller
	// that was given one may keep it.
	rec forkbox.Race
	audience
	keeping keeping
}

// record is the race as it is now.
func (r *scorecard) record() forkbox.Race {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.copyRecord()
}

// copyRecord copies the record. The caller holds mu.
func (r *scorecard) copyRecord() forkbox.Race {
	rec := r.rec
	rec.Entries, rec.Notes, rec.SetupRuns = slices.Clone(rec.Entries), slices.Clone(rec.Notes), slices.Clone(rec.SetupRuns)
	return rec
}

// entry is an approach as it is now.
func (r *scorecard) entry(i int) forkbox.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rec.Entries[i]
}

// edit changes an approach and tells the followers.
func (r *scorecard) edit(i int, change func(*forkbox.Entry)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.alter(i, change)
	if r.followed() {
		r.tell(forkbox.RaceEvent{Kind: forkbox.RaceEntry, Approach: e.Name, Entry: &e})
	}
}

// editQuietly changes an approach where a further change is about to be told.
func (r *scorecard) editQuietly(i int, change func(*forkbox.Entry)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alter(i, change)
}

// alter changes an approach. The caller holds mu.
func (r *scorecard) alter(i int, change func(*forkbox.Entry)) forkbox.Entry {
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

// setPhase notes what an approach is doing.
func (r *scorecard) setPhase(i int, p forkbox.Phase) {
	r.edit(i, func(e *forkbox.Entry) { e.Phase = p })
}

// note tells the followers something, and keeps it with the race.
func (r *scorecard) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.rec.Notes, text) {
		return
	}
	r.rec.Notes = append(slices.Clip(r.rec.Notes), text)
	r.tell(forkbox.RaceEvent{Kind: forkbox.RaceNote, Line: line(text)})
}

// say tells the followers something that is not kept.
func (r *scorecard) say(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(forkbox.RaceEvent{Kind: forkbox.RaceNote, Line: line(text)})
}

// uncancelled is for what is to be done although a race was cancelled.
func (r *scorecard) uncancelled() context.Context { return context.WithoutCancel(r.ctx) }

// closing says whether the daemon ends: then nothing is decided any more.
func (r *scorecard) closing() bool { return r.Races.ctx.Err() != nil }

// keepAfter is how long a change waits for others before it is written. Little
// depends on it: after a crash all of it is found again in the records of the
// boxes. What is not, is written at once.
const keepAfter = 300 * time.Millisecond

// keeping is what of a race is not written yet. The race's mu guards it, but
// for writing, which is held while something is written: what is newer must
// come last.
type keeping struct {
	writing sync.Mutex
	dirty   map[int]bool
	timer   *time.Timer
	ended   bool
	untold  []forkbox.Event // told with what is written next
}

// keepSoon has an entry written before long. The caller holds mu.
func (r *scorecard) keepSoon(i int) {
	k := &r.keeping
	if k.ended {
		return
	}
	if k.dirty == nil {
		k.dirty = map[int]bool{}
	}
	if k.dirty[i] = true; k.timer == nil {
		k.timer = time.AfterFunc(keepAfter, r.keepEntries)
	}
}

// keepEntries writes what has changed.
func (r *scorecard) keepEntries() {
	if err := r.keepNow(); err != nil && !r.closing() {
		r.log.Error("cannot record what approaches do", "race", r.id, "error", err)
	}
}

func (r *scorecard) keepNow() error {
	k := &r.keeping
	k.writing.Lock()
	defer k.writing.Unlock()
	r.mu.Lock()
	var entries []forkbox.Entry
	if !k.ended {
		for i := range k.dirty {
			entries = append(entries, r.rec.Entries[i])
		}
	}
	k.dirty = nil
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	if len(entries) == 0 {
		r.mu.Unlock()
		return nil
	}
	told := k.untold
	k.untold = nil
	r.mu.Unlock()
	return r.unlessTold(told, r.ledger.SaveEntries(r.uncancelled(), r.id, entries, slices.Clone(told)...))
}

// unlessTold keeps for the next time what could not be written.
func (r *scorecard) unlessTold(told []forkbox.Event, err error) error {
	if err != nil {
		r.mu.Lock()
		r.keeping.untold = append(told, r.keeping.untold...)
		r.mu.Unlock()
	}
	return err
}

// tellLater has an event told with what is next written of the race. The caller
// holds mu.
func (r *scorecard) tellLater(e forkbox.Event) { r.keeping.untold = append(r.keeping.untold, e) }

// about is an event of a race.
func (r *Races) about(rec forkbox.Race, kind forkbox.EventKind, text string, data forkbox.EventData) forkbox.Event {
	return forkbox.Event{Kind: kind, Race: rec.ID, Name: rec.Name, UID: rec.Owner.UID, Time: r.now(), Text: text, Data: &data}
}

// keepRace writes all of the record, and with last for the last time.
func (r *scorecard) keepRace(last bool) error {
	k := &r.keeping
	k.writing.Lock()
	defer k.writing.Unlock()
	r.mu.Lock()
	k.dirty, k.ended = nil, k.ended || last
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	rec, told := r.copyRecord(), k.untold
	k.untold = nil
	r.mu.Unlock()
	return r.unlessTold(told, r.ledger.UpdateRace(r.uncancelled(), rec, slices.Clone(told)...))
}
