package gate

import (
	"sync"
	"time"

	"github.com/miekg/dns"
)

const (
	// cacheLimit is how many answers are remembered, and cacheBytes how much
	// they take, about.
	cacheLimit = 4096
	cacheBytes = 16 << 20
	// cacheAnswer is how large an answer may be to be remembered: few are larger,
	// and those of somebody who means harm would push out everybody else's.
	cacheAnswer = 4 << 10
	// recordCost is what a record takes besides its text.
	recordCost = 128
)

// cache remembers answers until their time is over.
type cache struct {
	mu    sync.Mutex
	all   map[question]cached
	bytes int
}

type cached struct {
	reply Reply
	until time.Time
	bytes int
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
	c.forget(q)
	wire := wireSize(reply)
	if wire > cacheAnswer {
		return
	}
	bytes := len(q.name) + wire + recordCost*(1+len(reply.Records))
	if len(c.all) >= cacheLimit || c.bytes+bytes > cacheBytes {
		c.makeRoom()
	}
	c.all[q] = cached{reply, time.Now().Add(reply.TTL), bytes}
	c.bytes += bytes
}

// wireSize is how large an answer's records are.
func wireSize(reply Reply) int {
	size := 0
	for _, rr := range reply.Records {
		size += dns.Len(rr)
	}
	return size
}

func (c *cache) forget(q question) {
	c.bytes -= c.all[q].bytes
	delete(c.all, q)
}

// makeRoom forgets what is over, and if that is not enough a part of the rest,
// whichever: an order would cost more than asking again.
func (c *cache) makeRoom() {
	now := time.Now()
	for q, entry := range c.all {
		if entry.until.Before(now) {
			c.forget(q)
		}
	}
	for q := range c.all {
		if len(c.all) <= cacheLimit*3/4 && c.bytes <= cacheBytes*3/4 {
			return
		}
		c.forget(q)
	}
}
