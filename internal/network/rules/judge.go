package rules

import (
	"net/netip"
	"strings"

	"github.com/forkbox/forkbox"
)

var protos = []string{"tcp", "udp"}

// Name says whether any connection to a name may be allowed: before that no
// resolver is asked, since the question alone can carry something out. Ranges
// of addresses in the box's rules do not count: with them every name might be.
func (p *Policy) Name(host string) forkbox.NetVerdict {
	name, err := parseName(host)
	if err != nil {
		return refused(forkbox.NetTarget{Host: host}, whyOf(err))
	}
	t, a := forkbox.NetTarget{Host: name}, p.ask(name, netip.Addr{}, "tcp")
	if name == forkbox.HostName {
		return p.hostName(t)
	}
	rules, floor := p.reaches(name, netip.Addr{})
	switch {
	case rules.by == nil && rules.against != nil:
		return a.denied(t, rules.against)
	case rules.by == nil:
		return a.unmatched(t, "")
	case floor.by == nil:
		return floorRefuses(t, floor.against)
	}
	return allowed(t, rules.by)
}

// Denies says whether a rule denies a name in so many words, whatever else is
// allowed: no name that is an alias of it may be reached either.
func (p *Policy) Denies(host string) (forkbox.NetRule, bool) {
	name, err := parseName(host)
	if err != nil {
		return forkbox.NetRule{}, false
	}
	for _, l := range []list{p.floor, p.rules} {
		for _, proto := range protos {
			if r := l.reach(p.ask(name, netip.Addr{}, proto), false); r.meant != nil {
				return r.meant.wrote, true
			}
		}
	}
	return forkbox.NetRule{}, false
}

// Answer says whether an address may be given out for a name: some connection
// to it would be allowed.
func (p *Policy) Answer(host string, addr netip.Addr) bool {
	name, err := parseName(host)
	if err != nil || !addr.IsValid() {
		return false
	}
	rules, floor := p.reaches(name, addr)
	return rules.by != nil && floor.by != nil
}

// reaches is where the rules get, and where the floor agrees. Without an
// address what the floor allows by address may count.
func (p *Policy) reaches(name string, addr netip.Addr) (rules, floor *reach) {
	rules, floor = &reach{}, &reach{}
	for _, proto := range protos {
		a := p.ask(name, addr, proto)
		r := p.rules.reach(a, false)
		rules.join(r)
		if r.by == nil {
			continue
		}
		f := r
		if p.floored {
			f = p.floor.reach(a, true)
		}
		if !r.allowed.meets(f.allowed) {
			f.by = nil
		}
		floor.join(f)
	}
	return rules, floor
}

// join keeps what is the first of two.
func (r *reach) join(other *reach) {
	if r.by == nil {
		r.by = other.by
	}
	if r.against == nil {
		r.against = other.against
	}
}

// ask is without a port, or with one to be added.
func (p *Policy) ask(name string, addr netip.Addr, proto string) ask {
	return ask{box: p.box, host: name, place: p.placeOf(addr), proto: proto, pinned: hasHost(p.pinned, name)}
}

// Connect judges a connection. Without a host it is by raw address. A rule
// about requests lets the connection pass: [Policy.Request] judges those.
func (p *Policy) Connect(t forkbox.NetTarget) forkbox.NetVerdict {
	t, why := normal(t)
	if why != "" {
		return refused(t, why)
	}
	a := p.ask(t.Host, t.Addr, t.Proto)
	a.port = t.Port
	return p.judge(t, a)
}

// Request judges one request over HTTP, on a connection that was allowed.
func (p *Policy) Request(t forkbox.NetTarget) forkbox.NetVerdict {
	t, why := normal(t)
	if why != "" {
		return refused(t, why)
	}
	a := p.ask(t.Host, t.Addr, t.Proto)
	a.port, a.request, a.method, a.readings = t.Port, true, t.Method, readings(t.Path)
	return p.judge(t, a)
}

func (p *Policy) judge(t forkbox.NetTarget, a ask) forkbox.NetVerdict {
	if t.Host == forkbox.HostName {
		return p.judgeHost(t)
	}
	rule := p.rules.first(a)
	switch {
	case rule == nil && p.unseen(a):
		return a.unmatched(t, "only some requests to it are allowed; "+unseenWords)
	case rule == nil:
		return a.unmatched(t, "")
	case !rule.Allow:
		return a.denied(t, rule)
	}
	if p.floored {
		if f := p.floor.first(a); f == nil || !f.Allow {
			return floorRefuses(t, f)
		}
	}
	return allowed(t, rule)
}

// unseen says whether the host would be allowed if it were not pinned.
func (p *Policy) unseen(a ask) bool {
	if !a.pinned {
		return false
	}
	a.pinned = false
	rule := p.rules.first(a)
	return rule != nil && rule.Allow
}

// normal is the target in the one form that rules are compared with, or why it
// is none.
func normal(t forkbox.NetTarget) (forkbox.NetTarget, string) {
	t.Addr = t.Addr.Unmap().WithZone("")
	if t.Proto != "tcp" && t.Proto != "udp" {
		return t, "only tcp and udp can leave a box"
	}
	if t.Port < 1 || t.Port > 1<<16-1 {
		return t, "it names no port"
	}
	if addr, is := literal(t.Host); is {
		if t.Addr.IsValid() && t.Addr != addr {
			return t, "it is addressed to " + addr.String() + " and goes to " + t.Addr.String()
		}
		t.Host, t.Addr = "", addr
	}
	if t.Host == "" {
		if !t.Addr.IsValid() {
			return t, "it names neither a host nor an address"
		}
		return t, ""
	}
	name, err := parseName(t.Host)
	if err != nil {
		return t, whyOf(err)
	}
	t.Host = name
	return t, ""
}

// literal is an address as a URL or a Host header has it, in its plain form
// only: others are read differently by different programs.
func literal(host string) (netip.Addr, bool) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	addr, err := netip.ParseAddr(host)
	return addr.Unmap().WithZone(""), err == nil
}
