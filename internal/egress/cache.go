package egress

import (
	"sync"
	"time"
)

// cacheLimit is how many answers are remembered.
const cacheLimit = 4096

// cache remembers answers until their time is over.
type cache struct {
	mu  sync.Mutex
	all map[question]cached
}

type cached struct {
	reply Reply
	until time.Time
}

// get finds an answer, with the time that it is still good for.
func (c *cache) get(q question) (Reply, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, has := c.all[q]
	left := time.Until(entry.until)
	if !has || left <= 0 {
		return Reply{}, false
	}
	entry.reply.TTL = max(left, ttlLeast)
	return entry.reply, true
}

func (c *cache) put(q question, reply Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[question]cached{}
	}
	if len(c.all) >= cacheLimit {
		c.makeRoom()
	}
	c.all[q] = cached{reply, time.Now().Add(reply.TTL)}
}

// makeRoom forgets what is over, and if that is not enough a part of the rest,
// whichever: an order would cost more than asking again.
func (c *cache) makeRoom() {
	now := time.Now()
	for q, entry := range c.all {
		if entry.until.Before(now) {
			delete(c.all, q)
		}
	}
	for q := range c.all {
		if len(c.all) <= cacheLimit*3/4 {
			return
		}
		delete(c.all, q)
	}
}
