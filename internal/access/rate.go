package access

import (
	"sync"
	"time"
)

// Rate bounds how often each of many may do something: so many at once, and so
// many a second after that. Whoever was not seen for a while starts anew.
type Rate struct {
	Burst     int
	PerSecond float64 // 0: no bound

	mu   sync.Mutex
	left map[string]bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

// mostBuckets bounds what is remembered: beyond it those who have rested longest
// enough to be full again are forgotten, and else all of them.
const mostBuckets = 10_000

// Take says whether a caller may now, and if not when to try again.
func (r *Rate) Take(who string, now time.Time) (wait time.Duration, ok bool) {
	if r == nil || r.PerSecond <= 0 {
		return 0, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b, known := r.left[who]
	if !known {
		r.makeRoom(now)
		b = bucket{float64(r.Burst), now}
	}
	b.tokens = min(float64(r.Burst), b.tokens+max(0, now.Sub(b.at).Seconds())*r.PerSecond)
	b.at = now
	if ok = b.tokens >= 1; ok {
		b.tokens--
	} else {
		wait = time.Duration((1 - b.tokens) / r.PerSecond * float64(time.Second))
	}
	r.left[who] = b
	return wait, ok
}

// makeRoom is called with the lock held.
func (r *Rate) makeRoom(now time.Time) {
	if r.left == nil {
		r.left = map[string]bucket{}
	}
	if len(r.left) < mostBuckets {
		return
	}
	for who, b := range r.left {
		if b.tokens+now.Sub(b.at).Seconds()*r.PerSecond >= float64(r.Burst) {
			delete(r.left, who)
		}
	}
	if len(r.left) >= mostBuckets {
		clear(r.left)
	}
}
