package boxes

import (
	"context"
	"errors"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
)

// chore is something that is looked at now and then while a box runs.
type chore struct {
	next   time.Time
	prompt bool // also as soon as something about the box changes
	do     func(*core.Handle, *core.Attached) time.Duration
}

// tending is what this manager remembers of an instance beside what all need.
// The handle's mu guards it.
type tending struct {
	pinned    bool
	idleSince time.Time
	seen      core.Instant  // when its clocks were last looked at, by what tends it
	told      []string      // notes of its execs
	quiet     time.Duration // since when nothing is run in it, as the host counts
	look      *time.Timer   // until what the execs did is looked at
}

var tended core.Slot[tending]

func (m *Manager) chores() []chore {
	now := time.Now()
	return []chore{
		{next: now.Add(m.restAfter), do: m.sendToRest},
		{next: now, prompt: true, do: m.WatchClocks},
		{next: now, prompt: true, do: m.limits.WatchDisk},
		{next: now.Add(m.limits.SampleEvery), do: m.limits.Sample},
	}
}

// tend looks after a running box: it notices its end, sends it to rest when it
// idles, and sees to its limits. It is the only goroutine a running box has
// here.
func (m *Manager) tend(h *core.Handle, a *core.Attached) {
	chores := m.chores()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-m.core.Ctx.Done():
			return
		case <-a.Gone:
			return
		case <-a.Instance.Done():
			m.mourn(h, a)
			return
		case <-a.Poke:
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

func doChores(chores []chore, h *core.Handle, a *core.Attached) {
	for i := range chores {
		c := &chores[i]
		if time.Until(c.next) <= 0 && h.Current() == a {
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

// sendToRest stops the box when it has idled long enough, and otherwise says when to
// look again.
func (m *Manager) sendToRest(h *core.Handle, a *core.Attached) time.Duration {
	if wait := m.restIn(h, a); wait > 0 {
		return wait
	}
	// Asked before taking the turn: an instance that does not answer must not
	// keep others from stopping it.
	if !idle(m.core.Ctx, a) {
		h.Mu.Lock()
		tended.Of(a).idleSince = time.Now()
		h.Mu.Unlock()
		return m.restAfter
	}
	_, unlock, err := m.core.Lock(m.core.Ctx, h.ID)
	if err != nil {
		return m.restAfter
	}
	defer unlock()
	// An exec may have come and gone meanwhile, and left a process.
	if h.Current() != a || m.restIn(h, a) > 0 || !idle(m.core.Ctx, a) {
		return m.restAfter
	}
	if err := m.stopAtRest(h, a); err != nil {
		m.core.Log.Warn("cannot send a box to rest", "box", h.ID, "error", err)
	}
	return m.restAfter
}

func (m *Manager) stopAtRest(h *core.Handle, a *core.Attached) error {
	ctx := context.WithoutCancel(m.core.Ctx)
	box, err := m.core.Ledger.Box(ctx, h.ID)
	if err != nil {
		return err
	}
	return m.Halt(ctx, h, a, &box, 0)
}

// restIn is how long a box must go on idling before it rests.
func (m *Manager) restIn(h *core.Handle, a *core.Attached) time.Duration {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	t := tended.Of(a)
	if t.pinned || a.InUse() || a.Known.Paused != "" {
		return m.restAfter
	}
	return m.restAfter - time.Since(t.idleSince)
}

// idle says whether a box has no process but its init. One that cannot be
// asked is not idle: it may be doing what its owner wants.
func idle(ctx context.Context, a *core.Attached) bool {
	ps, err := a.Instance.Processes(ctx)
	return err == nil && !core.BeyondInit(ps)
}

// mourn takes note of an instance that ended without having been asked to.
func (m *Manager) mourn(h *core.Handle, a *core.Attached) {
	_, unlock, err := m.core.Lock(m.core.Ctx, h.ID)
	if err != nil {
		return // the next engine finds out
	}
	defer unlock()
	if h.Current() != a {
		return // it was being stopped
	}
	ctx := context.WithoutCancel(m.core.Ctx)
	box, err := m.core.Ledger.Box(ctx, h.ID)
	if err == nil {
		err = m.bury(ctx, h, a, &box)
	}
	if err != nil {
		m.core.Log.ErrorContext(ctx, "cannot clear up after a box that ended by itself", "box", h.ID, "error", err)
	}
}

// bury settles what an instance that died leaves: its execs, and by way of
// Attach its mounts. The caller has the box's turn.
func (m *Manager) bury(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box) error {
	died := lastWords(a.Instance)
	m.settle(h, a, nil, died)
	m.detach(h, a)
	if _, err := m.core.Provider.Attach(ctx, *box); !core.IsNotFound(err) {
		if err == nil {
			err = errors.New("it ended and still runs")
		}
		// It stays "running" in the ledger, so that the next caller, or
		// a restart, tries again.
		return m.core.Note(ctx, box, "cannot clear up after it", err)
	}
	box.State, box.Note, box.Paused, box.Death = forkbox.Stopped, died.Why, "", &died
	told := []forkbox.Event{m.stopped(*box, died)}
	if kind, ok := limits.EventOf(died); ok {
		told = append(told, m.core.About(*box, kind, "the box ended: "+died.Why))
	}
	return m.core.Ledger.UpdateBox(ctx, *box, told...)
}

// speaker is an instance that may know what it died of.
type speaker interface{ LastWords() *forkbox.Exit }

// lastWords is how an instance ended that no caller asked to.
func lastWords(i forkbox.Instance) forkbox.Exit {
	died := lost("the box ended by itself: it crashed, or its first process was killed")
	s, ok := i.(speaker)
	if !ok {
		return died
	}
	if said := s.LastWords(); said != nil {
		why := died.Why
		died = *said
		died.Why = core.OrElse(died.Why, why)
	}
	return died
}
