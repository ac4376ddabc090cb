package engine

import (
	"context"
	"errors"
	"time"

	"github.com/forkbox/forkbox"
)

// chore is something that is looked at now and then while a box runs.
type chore struct {
	next   time.Time
	prompt bool // also as soon as something about the box changes
	do     func(*handle, *attached) time.Duration
}

// tending is what this manager remembers of an instance beside what all need.
// The handle's mu guards it.
type tending struct {
	pinned    bool
	idleSince time.Time
	seen      instant       // when its clocks were last looked at, by what tends it
	told      []string      // notes of its execs
	quiet     time.Duration // since when nothing is run in it, as the host counts
	look      *time.Timer   // until what the execs did is looked at
}

var tended slot[tending]

func (e *Engine) chores() []chore {
	now := time.Now()
	return []chore{
		{next: now.Add(e.restAfter), do: e.rest},
		{next: now, prompt: true, do: e.watchClocks},
		{next: now, prompt: true, do: e.watchDisk},
		{next: now.Add(e.sampleEvery), do: e.sample},
	}
}

// tend looks after a running box: it notices its end, sends it to rest when it
// idles, and sees to its limits. It is the only goroutine a running box has
// here.
func (e *Engine) tend(h *handle, a *attached) {
	chores := e.chores()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-a.gone:
			return
		case <-a.instance.Done():
			e.mourn(h, a)
			return
		case <-a.poke:
			hurry(chores)
		case <-timer.C:
			doChores(chores, h, a)
		}
		timer.Reset(time.Until(soonest(chores)))
	}
}

func hurry(chores []chore) {
	for i := range chores {
		if chores[i].prompt {
			chores[i].next = time.Now()
		}
	}
}

func doChores(chores []chore, h *handle, a *attached) {
	for i := range chores {
		c := &chores[i]
		if time.Until(c.next) <= 0 && h.current() == a {
			c.next = time.Now().Add(min(c.do(h, a), farAway))
		}
	}
}

// farAway is a time to come that clocks can still tell.
const farAway = 24 * time.Hour

func soonest(chores []chore) time.Time {
	next := chores[0].next
	for _, c := range chores {
		if c.next.Before(next) {
			next = c.next
		}
	}
	return next
}

// rest stops the box when it has idled long enough, and otherwise says when to
// look again.
func (e *Engine) rest(h *handle, a *attached) time.Duration {
	if wait := e.restIn(h, a); wait > 0 {
		return wait
	}
	// Asked before taking the turn: an instance that does not answer must not
	// keep others from stopping it.
	if !idle(e.ctx, a) {
		h.mu.Lock()
		tended.of(a).idleSince = time.Now()
		h.mu.Unlock()
		return e.restAfter
	}
	_, unlock, err := e.lock(e.ctx, h.id)
	if err != nil {
		return e.restAfter
	}
	defer unlock()
	// An exec may have come and gone meanwhile, and left a process.
	if h.current() != a || e.restIn(h, a) > 0 || !idle(e.ctx, a) {
		return e.restAfter
	}
	if err := e.stopAtRest(h, a); err != nil {
		e.log.Warn("cannot send a box to rest", "box", h.id, "error", err)
	}
	return e.restAfter
}

func (e *Engine) stopAtRest(h *handle, a *attached) error {
	ctx := context.WithoutCancel(e.ctx)
	box, err := e.ledger.Box(ctx, h.id)
	if err != nil {
		return err
	}
	return e.halt(ctx, h, a, &box, 0)
}

// restIn is how long a box must go on idling before it rests.
func (e *Engine) restIn(h *handle, a *attached) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := tended.of(a)
	if t.pinned || len(a.execs) > 0 || a.known.Paused != "" {
		return e.restAfter
	}
	return e.restAfter - time.Since(t.idleSince)
}

// idle says whether a box has no process but its init. One that cannot be
// asked is not idle: it may be doing what its owner wants.
func idle(ctx context.Context, a *attached) bool {
	ps, err := a.instance.Processes(ctx)
	return err == nil && !beyondInit(ps)
}

func beyondInit(ps []forkbox.Process) bool {
	for _, p := range ps {
		if p.PID != 1 {
			return true
		}
	}
	return false
}

// mourn takes note of an instance that ended without having been asked to.
func (e *Engine) mourn(h *handle, a *attached) {
	_, unlock, err := e.lock(e.ctx, h.id)
	if err != nil {
		return // the next engine finds out
	}
	defer unlock()
	if h.current() != a {
		return // it was being stopped
	}
	ctx := context.WithoutCancel(e.ctx)
	box, err := e.ledger.Box(ctx, h.id)
	if err == nil {
		err = e.bury(ctx, h, a, &box)
	}
	if err != nil {
		e.log.Error("cannot clear up after a box that ended by itself", "box", h.id, "error", err)
	}
}

// bury settles what an instance that died leaves: its execs, and by way of
// Attach its mounts. The caller has the box's turn.
func (e *Engine) bury(ctx context.Context, h *handle, a *attached, box *forkbox.Box) error {
	died := lastWords(a.instance)
	e.settle(h, a, nil, died)
	e.detach(h, a)
	if _, err := e.provider.Attach(ctx, *box); !isNotFound(err) {
		if err == nil {
			err = errors.New("it ended and still runs")
		}
		// It stays "running" in the ledger, so that whoever uses it next, or
		// a restart, tries again.
		return e.note(ctx, box, "cannot clear up after it", err)
	}
	box.State, box.Note, box.Paused, box.Death = forkbox.Stopped, died.Why, "", &died
	if err := e.ledger.UpdateBox(ctx, *box); err != nil {
		return err
	}
	if kind, ok := kindOf(died); ok {
		e.tell(*box, kind, "", "the box ended: "+died.Why)
	}
	return nil
}

// speaker is an instance that may know what it died of.
type speaker interface{ LastWords() *forkbox.Exit }

// lastWords is how an instance ended that nobody asked to.
func lastWords(i forkbox.Instance) forkbox.Exit {
	died := lost("the box ended by itself: it crashed, or its first process was killed")
	s, ok := i.(speaker)
	if !ok {
		return died
	}
	if said := s.LastWords(); said != nil {
		why := died.Why
		died = *said
		died.Why = orElse(died.Why, why)
	}
	return died
}

// note tells the owner what went wrong with a box. It returns cause.
func (e *Engine) note(ctx context.Context, box *forkbox.Box, what string, cause error) error {
	box.Note = what + ": " + cause.Error()
	if err := e.ledger.UpdateBox(ctx, *box); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}
