package gate

import (
	"context"
	"sync"
	"time"
)

// throttle is a bucket that fills at a rate and holds one second of it. Without
// a rate it never runs out.
type throttle struct {
	mu   sync.Mutex
	rate float64 // per second; 0 is no limit
	left float64 // below zero: promised already
	last time.Time
	// changed is closed when the rate changes: a wait at the old one may last
	// for hours.
	changed chan struct{}
}

func newThrottle(rate int64) *throttle {
	return &throttle{rate: float64(rate), left: float64(rate), last: time.Now(), changed: make(chan struct{})}
}

func (t *throttle) set(rate int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fill()
	t.rate = float64(rate)
	t.left = min(max(t.left, 0), t.rate)
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *throttle) fill() {
	now := time.Now()
	t.left = min(t.left+now.Sub(t.last).Seconds()*t.rate, t.rate)
	t.last = now
}

// take says whether n are to be had now, and takes them.
func (t *throttle) take(n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rate == 0 {
		return true
	}
	t.fill()
	if t.left < float64(n) {
		return false
	}
	t.left -= float64(n)
	return true
}

// pace hands on data as fast as the rate allows, in pieces that keep it even.
func (t *throttle) pace(ctx context.Context, data []byte, write func([]byte) (int, error)) error {
	for {
		n, delay, changed := t.owe(len(data))
		if delay > 0 {
			pause(ctx, delay, changed)
		}
		if _, err := write(data[:n]); err != nil {
			return err
		}
		if data = data[n:]; len(data) == 0 {
			return nil
		}
	}
}

func pause(ctx context.Context, delay time.Duration, changed <-chan struct{}) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-changed:
	case <-timer.C:
	}
}

// leastPiece is what goes at once however low the rate is.
const leastPiece = 1400

// owe takes what is to go at once of n, and says when that would have been
// there.
func (t *throttle) owe(n int) (piece int, delay time.Duration, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rate == 0 {
		return n, 0, nil
	}
	t.fill()
	piece = t.pieceOf(n)
	t.left -= float64(piece)
	if t.left < 0 {
		delay = time.Duration(-t.left / t.rate * float64(time.Second))
	}
	return piece, delay, t.changed
}

func (t *throttle) pieceOf(n int) int { return min(n, max(int(t.rate/20), leastPiece)) }

// piece is how much of n should go at once.
func (t *throttle) piece(n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rate == 0 {
		return n
	}
	return t.pieceOf(n)
}

// wait is pace for what is already there: a piece, or a datagram.
func (t *throttle) wait(ctx context.Context, n int) {
	for n > 0 {
		piece, delay, changed := t.owe(n)
		if delay > 0 {
			pause(ctx, delay, changed)
		}
		n -= piece
	}
}
