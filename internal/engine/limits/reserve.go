package limits

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Reserved begins the reason of a box that was paused to save the host's
// reserve: those go on when there is room again, and no others.
const Reserved = "the host's reserve is reached: "

// GuardReserve watches, from now on, the disk that the host keeps for itself.
func (m *Manager) GuardReserve() {
	if m.core.Reserve == nil {
		return
	}
	m.guard.Do(func() {
		m.core.Work.Go(func() {
			tick := time.NewTicker(m.watchEvery)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					m.saveReserve()
				case <-m.core.Ctx.Done():
					return
				}
			}
		})
	})
}

// WhileThereIsRoom is a context that ends when the host's reserve is reached:
// what is being unpacked is written with root's rights, and no box can be paused
// for it. done turns the error that comes of it into why.
func (m *Manager) WhileThereIsRoom(ctx context.Context, op string) (_ context.Context, done func(error) error) {
	ctx, cancel := context.WithCancelCause(ctx)
	if m.core.Reserve != nil {
		m.core.Work.Go(func() {
			tick := time.NewTicker(m.watchEvery)
			defer tick.Stop()
			for {
				if short, why := m.core.Reserve(); short {
					cancel(forkbox.Errorf(forkbox.Busy, op, "%s", why).Hint("make room first: forkbox gc"))
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	return ctx, func(err error) error {
		var full *forkbox.Error
		if errors.As(context.Cause(ctx), &full) && err != nil {
			err = full
		}
		cancel(nil)
		return err
	}
}

// ward is a box that runs.
type ward struct {
	h     *core.Handle
	a     *core.Attached
	delta int64 // what it wrote since the last look
}

// saveReserve pauses who writes most while the reserve is touched, and lets go
// on who was paused for that when it is not.
func (m *Manager) saveReserve() {
	short, why := m.core.Reserve()
	wards := m.wards()
	for _, w := range wards {
		m.TrimLogs(w.h, w.a)
	}
	if !short {
		for _, w := range wards {
			if strings.HasPrefix(w.h.PausedWhy(w.a), Reserved) {
				m.core.WarnFailed("resume a box", w.h, m.letGo(w))
			}
		}
		return
	}
	for _, w := range wards {
		w.delta = m.wrote(w.h, w.a)
	}
	for _, w := range writers(wards) {
		m.core.WarnFailed("pause a box to save the reserve", w.h, m.freeze(w.h, w.a, Reserved+why, forkbox.EventReserve))
	}
}

// wards are the boxes that run.
func (m *Manager) wards() (wards []*ward) {
	for _, h := range m.core.AllHandles() {
		if a := h.Current(); a != nil {
			wards = append(wards, &ward{h: h, a: a})
		}
	}
	return wards
}

// wrote is what a box has written since that was last looked at; nothing where
// it cannot be asked.
func (m *Manager) wrote(h *core.Handle, a *core.Attached) int64 {
	g, ok := a.Instance.(forkbox.Governed)
	if !ok {
		return 0
	}
	ctx, cancel := context.WithTimeout(m.core.Ctx, AnswerLimit)
	defer cancel()
	s, err := g.Stats(ctx)
	if err != nil {
		return 0
	}
	return noteWrites(h, a, s)
}

// noteWrites keeps what a box has written so far, and says how much is new.
func noteWrites(h *core.Handle, a *core.Attached, s forkbox.Stats) int64 {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	g := gauges.Of(a)
	before := g.written
	g.written = s.IO.WriteBytes
	return s.IO.WriteBytes - before
}

// writers are those that are not paused yet and wrote at least half of what
// the first of them did. Where none is known to have written it may be
// any of them: many kernels count what goes through the page cache late or not.
func writers(wards []*ward) (most []*ward) {
	var top int64
	var going []*ward
	for _, w := range wards {
		if w.h.PausedWhy(w.a) == "" {
			going, top = append(going, w), max(top, w.delta)
		}
	}
	for _, w := range going {
		if top == 0 || w.delta > 0 && w.delta >= top/2 {
			most = append(most, w)
		}
	}
	return most
}

// letGo has a box go on that was paused to save the reserve.
func (m *Manager) letGo(w *ward) error {
	return m.core.WhileCurrent(w.h, w.a, func(ctx context.Context, box *forkbox.Box) error {
		g, ok := w.a.Instance.(forkbox.Governed)
		if !ok || !strings.HasPrefix(box.Paused, Reserved) {
			return nil // its owner has paused it meanwhile
		}
		return m.resume(ctx, w.h, g, box, "the host has room again")
	})
}
