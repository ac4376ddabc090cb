package engine

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
)

// lookAgain is how often the queue is looked at while somebody waits: pressure
// goes down without anybody telling.
const lookAgain = 250 * time.Millisecond

// admit waits for a place on the host. Nothing may be held meanwhile: neither a
// box's turn nor a lock.
func (e *Engine) admit(ctx context.Context, want Want, wish forkbox.Wish, what string) (*pass, error) {
	if e.admitsAll {
		return nil, nil
	}
	if e.queue.crowded(want.Owner.UID) {
		return nil, forkbox.Errorf(forkbox.Busy, what, "too many wait already").Hint("see them: forkbox queue")
	}
	patience, now := e.patience(wish), e.now()
	w := &waiter{
		want: want, what: what, priority: orElse(wish.Priority, forkbox.NormalPriority), ticket: wish.Ticket,
		since: now, deadline: now.Add(patience), asked: wish.Wait != nil,
	}
	e.queue.join(w)
	select {
	case <-w.ready: // as a rule
		return w.answered()
	default:
	}
	e.pumpQueue()
	return e.stand(ctx, w, patience)
}

// longestWait is how long anybody stands in line, whatever they say.
const longestWait = 24 * time.Hour

// patience is how long somebody waits.
func (e *Engine) patience(wish forkbox.Wish) time.Duration {
	if wish.Wait != nil {
		return min(time.Duration(*wish.Wait), longestWait)
	}
	return e.policies.Patience()
}

// deadline is when somebody who begins to wait now gives up.
func (e *Engine) deadline(wish forkbox.Wish) time.Time { return time.Now().Add(e.patience(wish)) }

// until is a wish that waits no longer than that.
func until(wish forkbox.Wish, deadline time.Time) forkbox.Wish {
	left := int64(max(0, time.Until(deadline)))
	wish.Wait = &left
	return wish
}

// stand waits in line.
func (e *Engine) stand(ctx context.Context, w *waiter, patience time.Duration) (*pass, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.ready:
		return w.answered()
	case <-timer.C:
	case <-ctx.Done():
	}
	e.queue.explain(w)
	place, of := e.queue.leave(w)
	switch {
	case place == 0: // the answer came meanwhile
		p, err := w.answered()
		if ctx.Err() == nil {
			return p, err
		}
		p.done()
	case ctx.Err() == nil:
		return nil, w.remedied(forkbox.Errorf(forkbox.Busy, w.what, "the host is full: %s; it waited %s and was number %d of %d in line",
			w.why, shortSpan(patience), place, of)).
			Hint("wait longer: --wait 10m").Hint("see who waits: forkbox queue")
	}
	if e.ctx.Err() != nil {
		return nil, errClosing(w.what)
	}
	return nil, forkbox.Errorf(forkbox.Busy, w.what, "the wait for a place was given up: %w", ctx.Err())
}

func (w *waiter) answered() (*pass, error) {
	if w.pass == nil {
		return nil, w.refused
	}
	return w.pass, nil
}

// pumpQueue looks at the queue as long as somebody waits.
func (e *Engine) pumpQueue() {
	q := e.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.pumping || len(q.waiting) == 0 {
		return
	}
	q.pumping = true
	e.work.Go(func() {
		tick := time.NewTicker(lookAgain)
		defer tick.Stop()
		for q.pump() {
			select {
			case <-tick.C:
			case <-e.ctx.Done():
				return // whoever waits leaves by themselves
			}
		}
	})
}

// pump looks once, and says whether to go on: until the last has left.
func (q *queue) pump() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.round()
	q.pumping = len(q.waiting) > 0
	return q.pumping
}

// Queue lists who waits for the host. Of others only their places are shown.
func (e *Engine) Queue(ctx context.Context, who forkbox.Owner) ([]forkbox.Waiting, error) {
	_, end, err := e.begin(ctx, "show the queue")
	if err != nil {
		return nil, err
	}
	defer end()
	e.queue.mu.Lock()
	defer e.queue.mu.Unlock()
	var list []forkbox.Waiting
	for i, w := range e.queue.waiting {
		line := forkbox.Waiting{Place: i + 1, Priority: w.priority}
		if w.want.Owner.UID == who.UID {
			line.Ticket, line.What, line.Why, line.Since, line.Deadline = w.ticket, w.what, w.why, w.since, w.deadline
		}
		list = append(list, line)
	}
	return list, nil
}

// roomFor refuses limits that the host, or its owner's quota, has no room for:
// nobody waits for those. Otherwise they count from here on.
func (e *Engine) roomFor(was, next forkbox.Box, running bool) error {
	more := func(r forkbox.Resource) bool { return forkbox.Tighter(valueIn(was.Policy, r), valueIn(next.Policy, r)) }
	want := Want{
		Owner: next.Owner, Policy: next.Policy,
		New: more(forkbox.Disk), Start: running && (more(forkbox.Memory) || more(forkbox.CPUs)),
	}
	if e.admitsAll || !want.New && !want.Start {
		e.queue.changed(was, next, running)
		return nil
	}
	v := e.queue.grow(was, next, running, want)
	if v.OK {
		return nil
	}
	return forkbox.Errorf(forkbox.Busy, "set limits", "%s", v.Why).
		Hint("stop or remove other boxes first, or ask for less")
}

func valueIn(p forkbox.Policy, r forkbox.Resource) int64 {
	if v, has := p.Of(r); has {
		return v
	}
	return forkbox.Unlimited
}
