package egress

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
}

func newThrottle(rate int64) *throttle {
	return &throttle{rate: float64(rate), left: float64(rate), last: time.Now()}
}

func (t *throttle) set(rate int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fill()
	t.rate = float64(rate)
	t.left = min(t.left, t.rate)
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

// wait takes n, and returns when they would have been there.
func (t *throttle) wait(ctx context.Context, n int) {
	delay := t.owe(n)
	if delay <= 0 {
		return
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (t *throttle) owe(n int) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rate == 0 {
		return 0
	}
	t.fill()
	t.left -= float64(n)
	if t.left >= 0 {
		return 0
	}
	return time.Duration(-t.left / t.rate * float64(time.Second))
}
