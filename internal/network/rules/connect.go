package rules

import (
	"net/netip"
	"strings"

	"github.com/forkbox/forkbox"
)

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
