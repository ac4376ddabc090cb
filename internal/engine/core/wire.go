package core

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/forkbox/forkbox"
)

// wire hands events to those who follow them. While there is any follower, one
// goroutine reads each event once; a follower whom it concerns is woken, and
// reads it off what is kept in memory. A follower costs a channel, and one who is
// slow nothing more: what is not in memory any more it reads from the ledger.
type wire struct {
	core *Core

	mu        sync.Mutex
	followers map[*eventReader]bool
	stop      context.CancelFunc // of the goroutine that reads; nil when there is none
	recent    []forkbox.Event    // all events after the id from, the oldest first
	from      int64
}

// mostRecent is how many events are kept in memory for followers, at least.
const mostRecent = 1024

// join has a follower be woken with each event from now on that it wants.
func (w *wire) join(ctx context.Context, r *eventReader) (leave func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop == nil {
		if w.from, err = w.core.Ledger.LastEvent(ctx); err != nil {
			return nil, err
		}
		w.followers, w.recent = map[*eventReader]bool{}, nil
		var reading context.Context
		reading, w.stop = context.WithCancel(w.core.Ctx)
		w.core.Work.Go(func() { w.read(reading) })
	}
	w.followers[r] = true
	return func() { w.leave(r) }, nil
}

func (w *wire) leave(r *eventReader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.followers, r); len(w.followers) == 0 {
		w.stop()
		w.stop, w.recent = nil, nil
	}
}

// read reads events as they come, until the last follower has left.
func (w *wire) read(ctx context.Context) {
	for ctx.Err() == nil {
		news := w.core.Ledger.News() // before they are read: none is missed
		page, err := w.core.Ledger.Events(ctx, forkbox.EventQuery{After: w.last(), Limit: eventPage})
		if err != nil {
			w.core.Log.ErrorContext(ctx, "cannot read events for those who follow them", "error", err)
		}
		w.take(ctx, page)
		if len(page) == eventPage {
			continue
		}
		select {
		case <-news:
		case <-ctx.Done():
		}
	}
}

func (w *wire) last() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.recent); n > 0 {
		return w.recent[n-1].ID
	}
	return w.from
}

// take keeps events and wakes the followers who want one of them.
func (w *wire) take(ctx context.Context, page []forkbox.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil || len(page) == 0 {
		return // all have left, and others may have come that another goroutine reads for
	}
	w.recent = append(w.recent, page...)
	if len(w.recent) > 2*mostRecent { // not with each: that would be a copy of all of them
		over := len(w.recent) - mostRecent
		w.from = w.recent[over-1].ID
		w.recent = slices.Clone(w.recent[over:])
	}
	for r := range w.followers {
		if slices.ContainsFunc(page, r.wants) {
			select {
			case r.wake <- struct{}{}:
			default: // it has not even begun with what came before
			}
		}
	}
}

// since are the events after an id. whole says whether all of them are in
// memory.
func (w *wire) since(after int64) (events []forkbox.Event, whole bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if after < w.from {
		return nil, false
	}
	i, _ := slices.BinarySearchFunc(w.recent, after+1, func(e forkbox.Event, id int64) int { return cmp.Compare(e.ID, id) })
	return slices.Clone(w.recent[i:]), true
}
