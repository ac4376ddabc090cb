package egress

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// pinLeast is how long an address stays reachable as the name that it was
	// given out for, however short the answer's time to live was: programs
	// resolve once and connect for a while.
	pinLeast = 10 * time.Minute
	pinMost  = 24 * time.Hour
	// pinLimit is how many addresses have pins; the oldest go first.
	pinLimit = 4096
	// pinNames is how many names one address has: a network of caches can serve
	// thousands from one.
	pinNames = 64
)

// pins knows which names an address was given out for: only as one of them it is
// reachable. An answer that points a name elsewhere later is of no use to
// anybody, since every address is judged together with its name.
type pins struct {
	mu   sync.Mutex
	now  func() time.Time
	at   map[netip.Addr]*pinned
	tick uint64 // orders what happened, however coarse the clock
}

type pinned struct {
	names []pin
	open  int // connections that have it in use
	last  uint64
}

type pin struct {
	name  string
	until time.Time
	tick  uint64
}

func newPins() *pins { return &pins{now: time.Now, at: map[netip.Addr]*pinned{}} }

// add pins an address that is given out for a name.
func (p *pins) add(addr netip.Addr, name string, ttl time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick++
	entry := p.at[addr]
	if entry == nil {
		p.makeRoom()
		entry = &pinned{}
		p.at[addr] = entry
	}
	entry.last = p.tick
	entry.put(pin{name, p.now().Add(min(max(ttl, pinLeast), pinMost)), p.tick})
}

// put has the newest name first.
func (e *pinned) put(n pin) {
	e.names = slices.DeleteFunc(e.names, func(o pin) bool { return o.name == n.name })
	e.names = slices.Insert(e.names, 0, n)
	e.names = e.names[:min(len(e.names), pinNames)]
}

// makeRoom drops what is stale, or else the oldest that nobody uses.
func (p *pins) makeRoom() {
	if len(p.at) < pinLimit {
		return
	}
	var oldest netip.Addr
	for addr, entry := range p.at {
		if entry.open > 0 {
			continue
		}
		if !oldest.IsValid() || entry.last < p.at[oldest].last {
			oldest = addr
		}
	}
	delete(p.at, oldest)
}

// names are those that an address was given out for, the latest first.
func (p *pins) names(addr netip.Addr) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry := p.at[addr]
	if entry == nil {
		return nil
	}
	var names []string
	for _, n := range entry.names {
		if entry.open > 0 || p.now().Before(n.until) {
			names = append(names, n.name)
		}
	}
	return names
}

func (p *pins) has(addr netip.Addr, name string) bool {
	return slices.Contains(p.names(addr), name)
}

// hold keeps an address's names while a connection to it is open; release ends
// that.
func (p *pins) hold(addr netip.Addr) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry := p.at[addr]
	if entry == nil {
		return func() {}
	}
	entry.open++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		entry.open--
	}
}

func (p *pins) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.at)
}
