package registry

import (
	"context"
	"errors"
	"io"
	"time"
)

// stall is how long a transfer may stand still.
var stall = time.Minute

var errStalled = errors.New("nothing moved for a minute")

// watch ends a transfer that stands still, which no timeout of a whole
// transfer could tell from one that is large.
type watch struct {
	ctx   context.Context
	timer *time.Timer
	end   context.CancelCauseFunc
}

func newWatch(ctx context.Context) *watch {
	ctx, end := context.WithCancelCause(ctx)
	return &watch{ctx: ctx, end: end, timer: time.AfterFunc(stall, func() { end(errStalled) })}
}

func (w *watch) close() {
	w.timer.Stop()
	w.end(nil)
}

// why replaces the error of a transfer that we ended by the reason.
func (w *watch) why(err error) error {
	if err != nil && context.Cause(w.ctx) == errStalled {
		return errStalled
	}
	return err
}

// moving is a transfer: every read shows that it lives.
type moving struct {
	r    io.Reader
	w    *watch
	done int64
	tell func(done int64)
}

func (m *moving) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if err != nil {
		m.w.timer.Stop() // what follows is the other side's work
	} else {
		m.w.timer.Reset(stall)
	}
	m.done += int64(n)
	if n > 0 {
		m.tell(m.done)
	}
	return n, err
}
