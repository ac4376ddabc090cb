package limits

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/trace"
)

// lookAgain is how often the queue is looked at while a caller waits: pressure
// goes down without a word.
const lookAgain = 250 * time.Millisecond

// Admit waits for a place on the host. Nothing may be held meanwhile: neither a
// box's turn nor a lock.
func (m *Manager) Admit(ctx context.Context, want Want, wish forkbox.Wish, what string) (*Pass, error) {
	if m.AdmitsAll {
		return nil, nil
	}
	if m.Line.crowded(want.Owner.UID) {
		return nil, forkbox.Errorf(forkbox.Busy, what, "too many wait already").Hint("see them: forkbox queue")
	}
	step := trace.Step(ctx, core.WaitForHost)
	defer step.End(nil)
	patience, now := m.patience(wish), m.core.Now()
	w := &waiter{
		want: want, what: what, priority: core.OrElse(wish.Priority, forkbox.NormalPriority), ticket: wish.Ticket,
		since: now, deadline: now.Add(patience), asked: wish.Wait != nil,
	}
	m.Line.join(w)
	select {
	case <-w.ready: // as a rule
		return w.answered()
	default:
	}
	m.pumpQueue()
	began := time.Now()
	pass, err := m.stand(ctx, w, patience)
	m.core.Took(core.WaitForHost, time.Since(began))
	return pass, err
}

// longestWait is how long a caller stands in line at most, whatever it asks for.
const longestWait = 24 * time.Hour

// patience is how long a caller waits.
func (m *Manager) patience(wish forkbox.Wish) time.Duration {
	if wish.Wait != nil {
		return min(time.Duration(*wish.Wait), longestWait)
	}
	return m.policies.Patience()
}

// Deadline is when a caller who begins to wait now gives up.
func (m *Manager) Deadline(wish forkbox.Wish) time.Time { return time.Now().Add(m.patience(wish)) }

// Until is a wish that waits no longer than that.
func Until(wish forkbox.Wish, deadline time.Time) forkbox.Wish {
	left := int64(max(0, time.Until(deadline)))
	wish.Wait = &left
	return wish
}

// stand waits in line.
func (m *Manager) stand(ctx context.Context, w *waiter, patience time.Duration) (*Pass, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.ready:
		return w.answered()
	case <-timer.C:
	case <-ctx.Done():
	}
	m.Line.explain(w)
	place, of := m.Line.leave(w)
	switch {
	case place == 0: // the answer came meanwhile
		p, err := w.answered()
		if ctx.Err() == nil {
			return p, err
		}
		p.Done()
	case ctx.Err() == nil:
		return nil, w.remedied(forkbox.Errorf(forkbox.Busy, w.what, "the host is full: %s; it waited %s and was number %d of %d in line",
			w.why, core.ShortSpan(patience), place, of)).
			Hint("wait longer: --wait 10m").Hint("see who waits: forkbox queue")
	}
	if m.core.Ctx.Err() != nil {
		return nil, core.ErrClosing(w.what)
	}
	return nil, forkbox.Errorf(forkbox.Busy, w.what, "the wait for a place was given up: %w", ctx.Err())
}

func (w *waiter) answered() (*Pass, error) {
	if w.pass == nil {
		return nil, w.refused
	}
	return w.pass, nil
}

// pumpQueue looks at the queue as long as a caller waits.
func (m *Manager) pumpQueue() {
	q := m.Line
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.pumping || len(q.waiting) == 0 {
		return
	}
	q.pumping = true
	m.core.Work.Go(func() {
		tick := time.NewTicker(lookAgain)
		defer tick.Stop()
		for q.pump() {
			select {
			case <-tick.C:
			case <-m.core.Ctx.Done():
				return // callers who wait leave by themselves
			}
		}
	})
}

// pump looks once, and says whether to go on: until the last has left.
func (q *Line) pump() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.round()
	q.pumping = len(q.waiting) > 0
	return q.pumping
}

// Queue lists who waits for the host. Of others only their places are shown.
func (m *Manager) Queue(ctx context.Context, who forkbox.Owner) ([]forkbox.Waiting, error) {
	_, end, err := m.core.Begin(ctx, "show the queue")
	if err != nil {
		return nil, err
	}
	defer end()
	m.Line.mu.Lock()
	defer m.Line.mu.Unlock()
	var list []forkbox.Waiting
	for i, w := range m.Line.waiting {
		line := forkbox.Waiting{Place: i + 1, Priority: w.priority}
		if w.want.Owner.UID == who.UID {
			line.Ticket, line.What, line.Why, line.Since, line.Deadline = w.ticket, w.what, w.why, w.since, w.deadline
		}
		list = append(list, line)
	}
	return list, nil
}

// roomFor refuses limits that the host, or its owner's quota, has no room for:
// no caller waits for those. Otherwise they count from here on.
func (m *Manager) roomFor(was, next forkbox.Box, running bool) error {
	more := func(r forkbox.Resource) bool { return forkbox.Tighter(ValueIn(was.Policy, r), ValueIn(next.Policy, r)) }
	want := Want{
		Owner: next.Owner, Policy: next.Policy,
		New: more(forkbox.Disk), Start: running && (more(forkbox.Memory) || more(forkbox.CPUs)),
	}
	if m.AdmitsAll || !want.New && !want.Start {
		m.Line.Changed(was, next, running)
		return nil
	}
	v := m.Line.grow(was, next, running, want)
	if v.OK {
		return nil
	}
	return forkbox.Errorf(forkbox.Busy, "set limits", "%s", v.Why).
		Hint("stop or remove other boxes first, or ask for less")
}

// ValueIn is the limit of a resource, Unlimited where there is none.
func ValueIn(p forkbox.Policy, r forkbox.Resource) int64 {
	if v, has := p.Of(r); has {
		return v
	}
	return forkbox.Unlimited
}

// NewPlace waits for a place for a new box.
func (m *Manager) NewPlace(ctx context.Context, who forkbox.Owner, t Terms, wish forkbox.Wish) (*Pass, error) {
	wish.Priority = t.asked.Priority
	return m.Admit(ctx, Want{Owner: who, New: true, Policy: t.policy}, wish, "create box")
}
