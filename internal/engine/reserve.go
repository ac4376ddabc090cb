package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// reserved begins the reason of a box that was paused to save the host's
// reserve: those go on when there is room again, and no others.
const reserved = "the host's reserve is reached: "

// guardReserve watches, from now on, the disk that the host keeps for itself.
func (e *Engine) guardReserve() {
	if e.reserve == nil {
		return
	}
	e.guard.Do(func() {
		e.work.Go(func() {
			tick := time.NewTicker(e.watchEvery)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					e.saveReserve()
				case <-e.ctx.Done():
					return
				}
			}
		})
	})
}

// whileThereIsRoom is a context that ends when the host's reserve is reached:
// what is being unpacked is written with root's rights, and no box can be paused
// for it. done turns the error that comes of it into why.
func (e *Engine) whileThereIsRoom(ctx context.Context, op string) (_ context.Context, done func(error) error) {
	ctx, cancel := context.WithCancelCause(ctx)
	if e.reserve != nil {
		e.work.Go(func() {
			tick := time.NewTicker(e.watchEvery)
			defer tick.Stop()
			for {
				if short, why := e.reserve(); short {
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
	h     *handle
	a     *attached
	delta int64 // what it wrote since the last look
}

// saveReserve pauses who writes most while the reserve is touched, and lets go
// on who was paused for that when it is not.
func (e *Engine) saveReserve() {
	short, why := e.reserve()
	wards := e.wards()
	for _, w := range wards {
		e.trimLogs(w.h, w.a)
	}
	if !short {
		for _, w := range wards {
			if strings.HasPrefix(w.h.pausedWhy(w.a), reserved) {
				e.failing("resume a box", w.h, e.letGo(w))
			}
		}
		return
	}
	for _, w := range wards {
		w.delta = e.wrote(w.h, w.a)
	}
	for _, w := range writers(wards) {
		e.failing("pause a box to save the reserve", w.h, e.freeze(w.h, w.a, reserved+why, forkbox.EventReserve))
	}
}

// wards are the boxes that run.
func (e *Engine) wards() (wards []*ward) {
	for _, h := range e.allHandles() {
		if a := h.current(); a != nil {
			wards = append(wards, &ward{h: h, a: a})
		}
	}
	return wards
}

// wrote is what a box has written since that was last looked at; nothing where
// it cannot be asked.
func (e *Engine) wrote(h *handle, a *attached) int64 {
	g, ok := a.instance.(forkbox.Governed)
	if !ok {
		return 0
	}
	ctx, cancel := context.WithTimeout(e.ctx, statsLimit)
	defer cancel()
	s, err := g.Stats(ctx)
	if err != nil {
		return 0
	}
	return noteWrites(h, a, s)
}

// noteWrites keeps what a box has written so far, and says how much is new.
func noteWrites(h *handle, a *attached, s forkbox.Stats) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := gauges.of(a)
	before := g.written
	g.written = s.IO.WriteBytes
	return s.IO.WriteBytes - before
}

// writers are those that are not paused yet and wrote at least half of what
// the first of them did. Where nobody is known to have written it may be
// anybody: many kernels count what goes through the page cache late or not.
func writers(wards []*ward) (most []*ward) {
	var top int64
	var going []*ward
	for _, w := range wards {
		if w.h.pausedWhy(w.a) == "" {
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
func (e *Engine) letGo(w *ward) error {
	return e.asCurrent(w.h, w.a, func(ctx context.Context, box *forkbox.Box) error {
		g, ok := w.a.instance.(forkbox.Governed)
		if !ok || !strings.HasPrefix(box.Paused, reserved) {
			return nil // its owner has paused it meanwhile
		}
		return e.resume(ctx, w.h, g, box, "the host has room again")
	})
}
