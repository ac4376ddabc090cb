package server

import (
	"context"
	"sync"
	"time"
)

// idleClock counts the requests in flight, exec sessions included, and knows
// since when there are none.
type idleClock struct {
	mu     sync.Mutex
	active int
	since  time.Time
}

func (c *idleClock) enter() { c.add(1) }
func (c *idleClock) leave() { c.add(-1) }

func (c *idleClock) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active += n
	c.since = time.Now()
}

// quiet says for how long there was nothing; busy starts the clock anew.
func (c *idleClock) quiet(busy bool) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if busy || c.active > 0 {
		c.since = time.Now()
	}
	return time.Since(c.since)
}

// after is closed once it was quiet for long enough; never, when limit is 0.
func (c *idleClock) after(ctx context.Context, limit time.Duration, busy func() bool) <-chan struct{} {
	if limit <= 0 {
		return nil
	}
	c.add(0)
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(min(limit/4+time.Millisecond, time.Second))
		defer tick.Stop()
		for c.quiet(busy()) < limit {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		close(done)
	}()
	return done
}

// wait returns when no request is in flight, or when ctx ends.
func (c *idleClock) wait(ctx context.Context) {
	for ctx.Err() == nil {
		c.mu.Lock()
		active := c.active
		c.mu.Unlock()
		if active == 0 {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}
