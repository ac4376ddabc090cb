package gate

import (
	"net/netip"

	"github.com/forkbox/forkbox"
)

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

// orAlias says of a refused address that it was given out for a name, if that
// does not count any more: the bare address is not what the box was after.
func (g *Gate) orAlias(bare forkbox.NetVerdict) forkbox.NetVerdict {
	name, aliases := g.pins.latest(bare.Target.Addr)
	denied := aliasDenied(g.rules(), aliases)
	if denied == nil {
		return bare
	}
	denied.Target = bare.Target
	denied.Target.Host = name
	return *denied
}
