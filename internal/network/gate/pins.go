package gate

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forkbox/forkbox"
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
	// pinAliases is how many bytes of names that its answers came by one address
	// has at most; whose are beyond is forgotten with its name.
	pinAliases = 8 << 10
)

// pins knows which names an address was given out for: only as one of them it
// is reachable. An answer that later points a name elsewhere opens nothing,
// since every address is judged together with its name.
type pins struct {
	mu   sync.Mutex
	now  func() time.Time
	at   map[netip.Addr]*pinned
	tick uint64 // orders what happened, however coarse the clock

	policy *atomic.Pointer[Policy] // that holds now
	under  *Policy                 // that pins were compared with last
	era    uint64                  // counts such policies
}

type pinned struct {
	names []*pin
	open  int // connections that have it in use
	last  uint64
}

type pin struct {
	name    string
	aliases []string // that the name's answer came by
	until   time.Time
	era     uint64 // in which it was found out whether an alias is denied
	denied  bool
}

func newPins() *pins { return &pins{now: time.Now, at: map[netip.Addr]*pinned{}} }

// add pins an address that is given out for a name, which is an alias of others.
func (p *pins) add(addr netip.Addr, name string, ttl time.Duration, aliases ...string) {
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
	entry.put(&pin{name: name, aliases: aliases, until: p.now().Add(min(max(ttl, pinLeast), pinMost))})
}

// put has the newest name first.
func (e *pinned) put(n *pin) {
	e.names = slices.DeleteFunc(e.names, func(o *pin) bool { return o.name == n.name })
	e.names = slices.Insert(e.names, 0, n)
	bytes, most := 0, min(len(e.names), pinNames)
	for i, o := range e.names[:most] {
		if bytes += lengths(o.aliases); i > 0 && bytes > pinAliases {
			most = i
			break
		}
	}
	clear(e.names[most:])
	e.names = e.names[:most]
}

// makeRoom drops what is stale, or else the oldest that no connection uses.
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
	var names []string
	for _, n := range p.alive(addr) {
		if p.counts(n) {
			names = append(names, n.name)
		}
	}
	return names
}

// alive are an address's pins that are not over; the caller holds the lock.
func (p *pins) alive(addr netip.Addr) []*pin {
	entry := p.at[addr]
	switch {
	case entry == nil:
		return nil
	case entry.open > 0:
		return entry.names
	}
	now := p.now()
	return slices.DeleteFunc(slices.Clone(entry.names), func(n *pin) bool { return !now.Before(n.until) })
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

// aliasDenied says why a name is refused that is an alias of others, if a rule
// denies one of those.
func aliasDenied(rules Policy, aliases []string) *forkbox.NetVerdict {
	for _, alias := range aliases {
		if rule, denied := rules.Denies(alias); denied {
			return &forkbox.NetVerdict{Rule: rule, Why: "it is an alias of " + quote(alias) + ", which `" + rule.Rule + "` denies (" + rule.From + ")"}
		}
	}
	return nil
}

// counts says whether an address is reachable by a pin: rules may have come to
// deny a name that its answer came by. That is found out once for each policy,
// since an address can have many names and every connection asks.
func (p *pins) counts(n *pin) bool {
	if len(n.aliases) == 0 || p.policy == nil {
		return true
	}
	if now := p.policy.Load(); now != p.under {
		p.under = now
		p.era++
	}
	if n.era != p.era {
		n.era, n.denied = p.era, aliasDenied(*p.under, n.aliases) != nil
	}
	return !n.denied
}

// latest is the name that an address was given out for last, whether it counts
// or not, and the names that the answer came by.
func (p *pins) latest(addr netip.Addr) (name string, aliases []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.alive(addr) {
		return n.name, n.aliases
	}
	return "", nil
}

// aliases are the names that the answer for a name came by.
func (p *pins) aliases(addr netip.Addr, name string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.alive(addr) {
		if n.name == name {
			return n.aliases
		}
	}
	return nil
}

func lengths(names []string) int {
	n := 0
	for _, name := range names {
		n += len(name)
	}
	return n
}

// explainAlias says of a refused address that it was given out for a name, if that
// does not count any more: the bare address is not what the box was after.
func (j *judge) explainAlias(bare forkbox.NetVerdict) forkbox.NetVerdict {
	name, aliases := j.pins.latest(bare.Target.Addr)
	denied := aliasDenied(j.rules(), aliases)
	if denied == nil {
		return bare
	}
	denied.Target = bare.Target
	denied.Target.Host = name
	return *denied
}
