package race

import (
	"context"

	"github.com/forkbox/forkbox"
)

// cancelling is what the record of a race says while it is being cancelled: a
// daemon that takes it over goes on with that, and not with the race.
const cancelling = "it is being cancelled"

// Cancel ends a race: what runs in its boxes ends, and they rest, to be looked
// at. It returns when all is still. It can be repeated.
func (r *Races) Cancel(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Race, error) {
	rec, err := r.find(ctx, who, ref)
	if err != nil {
		return rec, err
	}
	live := r.running(rec.ID)
	if live == nil {
		return r.Get(ctx, who, rec.ID)
	}
	if err := live.wantCancelled(); err != nil {
		return live.record(), err
	}
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

// wantCancelled writes down that a race is cancelled, and then has it end.
func (r *race) wantCancelled() error {
	r.mu.Lock()
	ended := r.rec.State != forkbox.RaceRunning
	if !ended {
		r.rec.Why = cancelling
	}
	r.mu.Unlock()
	if ended {
		return nil
	}
	if err := r.keepRace(false); err != nil {
		return err
	}
	r.cancel(errCancelled)
	return nil
}
