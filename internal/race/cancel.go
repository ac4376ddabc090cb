package race

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
)

// cancelling is what the record of a race says while it is being cancelled: a
// daemon that takes it over goes on with that, and not with the race.
const cancelling = "it is being cancelled"

// Cancel ends a race: what runs in its boxes ends, and they rest, to be looked
// at. It returns when all is still. It can be repeated.
func (r *Races) Cancel(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Race, error) {
	rec, err := r.findNamed(ctx, who, "cancel race", ref)
	if err != nil {
		return rec, err
	}
	live := r.running(rec.ID)
	if live == nil {
		return r.Get(ctx, who, rec.ID)
	}
	live.wantCancelled()
	select {
	case <-live.over:
	case <-ctx.Done():
		return live.record(), forkbox.Errorf(forkbox.TimedOut, "cancel race", "what runs in its boxes is still ending: %w", ctx.Err())
	}
	if live.closing() {
		return live.record(), forkbox.Errorf(forkbox.Unavailable, "cancel race", "the daemon is stopping").
			Hint("the next one goes on with it")
	}
	return live.record(), nil
}

// wantCancelled has a race end, whether or not that can be written down: it may
// be what fills the disk. Its end is written again when it has come.
func (r *race) wantCancelled() {
	r.mu.Lock()
	ended := r.rec.State != forkbox.RaceRunning
	if !ended {
		r.rec.Why = cancelling
	}
	r.mu.Unlock()
	if ended {
		return
	}
	if err := r.keepRace(false); err != nil {
		r.log.Error("cannot record that a race is cancelled: a daemon that takes it over goes on with it", "race", r.id, "error", err)
	}
	r.cancel(errCancelled)
}

// endEvery is how often it is tried to record the end of a race.
const endEvery = 2 * time.Second

// keepEnd records the end of a race as soon as that can be done.
func (r *race) keepEnd() {
	for wait(r.Races.ctx, nil, endEvery) {
		if err := r.keepRace(true); err == nil || forkbox.CodeOf(err) == forkbox.NotFound {
			return
		}
	}
}
