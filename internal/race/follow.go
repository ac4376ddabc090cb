package race

import (
	"context"
	"sync"

	"github.com/forkbox/forkbox"
)

// Follow tells what happens in a race: first all that there is, and last how it
// ended. The race does not wait for a slow follower, which hears the latest
// about an approach, and not every note.
func (r *Races) Follow(ctx context.Context, who forkbox.Owner, ref string, yield func(forkbox.RaceEvent) error) error {
	rec, err := r.find(ctx, who, ref)
	if err != nil {
		return err
	}
	live := r.running(rec.ID)
	if live == nil {
		return r.tellEnded(ctx, who, rec.ID, yield)
	}
	f := live.join()
	defer live.leave(f)
	return f.listen(ctx, r.ctx, yield)
}

// tellEnded is for a race that does not run any more.
func (r *Races) tellEnded(ctx context.Context, who forkbox.Owner, id string, yield func(forkbox.RaceEvent) error) error {
	rec, err := r.Get(ctx, who, id) // it may have ended since it was found
	if err != nil {
		return err
	}
	for _, kind := range []forkbox.RaceEventKind{forkbox.RaceBegins, forkbox.RaceEnds} {
		if err := yield(forkbox.RaceEvent{Race: rec.ID, Time: r.now(), Kind: kind, Record: &rec}); err != nil {
			return err
		}
	}
	return nil
}

// audience is the followers of a race, and what they watch. The race's mu
// guards it.
type audience struct {
	followers map[*follower]bool
	present   map[int]*performance // what runs now, by approach
	watching  context.CancelFunc   // ends the watch over output and usage
	watch     context.Context      // nil without followers
	last      *forkbox.RaceEvent   // the end, when it has been told
}

func (a *audience) init() {
	a.followers, a.present = map[*follower]bool{}, map[int]*performance{}
}

func (a *audience) followed() bool { return len(a.followers) > 0 }

// join adds a follower.
func (r *scorecard) join() *follower {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &follower{wake: make(chan struct{}, 1), latest: map[topic]int{}}
	rec := r.copyRecord()
	f.push(r.event(forkbox.RaceEvent{Kind: forkbox.RaceBegins, Record: &rec}))
	if r.last != nil {
		f.push(*r.last)
		return f
	}
	r.followers[f] = true
	if r.watch == nil {
		r.startWatch()
	}
	return f
}

func (r *scorecard) leave(f *follower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.followers, f)
	if !r.followed() {
		r.endWatch()
	}
}

func (r *scorecard) event(e forkbox.RaceEvent) forkbox.RaceEvent {
	e.Race, e.Time = r.id, r.now()
	return e
}

// tell has all followers hear something. The caller holds mu.
func (r *scorecard) tell(e forkbox.RaceEvent) {
	if !r.followed() {
		return
	}
	e = r.event(e)
	for f := range r.followers {
		f.push(e)
	}
}

// tellEnd tells the last event.
func (r *scorecard) tellEnd() {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := r.copyRecord()
	e := r.event(forkbox.RaceEvent{Kind: forkbox.RaceEnds, Record: &rec})
	r.last = &e
	r.tell(e)
	r.endWatch()
}

// follower is one client that follows, with what it has not heard yet.
type follower struct {
	mu     sync.Mutex
	queue  []forkbox.RaceEvent
	latest map[topic]int // where in the queue
	wake   chan struct{}
}

// topic is what a later event says all about that an earlier one did.
type topic struct {
	kind     forkbox.RaceEventKind
	approach string
}

// mostQueued is how many events wait for a follower. Beyond that there is one of
// each kind for each approach, and notes are not heard.
const mostQueued = 256

// push has an event wait. What tells all about an approach takes the place of
// what told so before, unless the approach has come further meanwhile: each
// holds a whole entry, with all values that were measured so far, and for a
// follower that never reads the daemon would keep thousands of them.
func (f *follower) push(e forkbox.RaceEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := topic{e.Kind, e.Approach}
	at, has := f.latest[t]
	switch {
	case has && e.Approach != "" && (len(f.queue) >= mostQueued || !further(f.queue[at].Entry, e.Entry)):
		f.queue[at] = e
	case e.Kind == forkbox.RaceNote && len(f.queue) >= mostQueued:
		return // they are in the record, which comes at the end
	default:
		f.latest[t] = len(f.queue)
		f.queue = append(f.queue, e)
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// further says whether an approach does something else now.
func further(before, now *forkbox.Entry) bool {
	return before != nil && now != nil && (before.Phase != now.Phase || before.Attempt != now.Attempt)
}

func (f *follower) take() []forkbox.RaceEvent {
	f.mu.Lock()
	defer f.mu.Unlock()
	queue := f.queue
	f.queue = nil
	clear(f.latest)
	return queue
}

// listen yields what comes until the race has ended.
func (f *follower) listen(ctx, closing context.Context, yield func(forkbox.RaceEvent) error) error {
	for {
		for _, e := range f.take() {
			if err := yield(e); err != nil || e.Kind == forkbox.RaceEnds {
				return err
			}
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return ctx.Err()
		case <-closing.Done():
			return forkbox.Errorf(forkbox.Unavailable, "follow race", "the daemon is stopping").
				Hint("try again: the next daemon goes on with the race")
		}
	}
}
