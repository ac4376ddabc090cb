package gate

import "github.com/forkbox/forkbox"

// rules is the policy that holds now.
func (g *Gate) rules() Policy { return *g.policy.Load() }

// SetPolicy has another policy hold from now on. Connections that it does not
// allow are ended, and that is on record.
func (g *Gate) SetPolicy(p Policy) {
	g.policy.Store(&p)
	for _, f := range g.flows.list() {
		g.review(f)
	}
}

// recheck decides again about a flow that was judged under a policy, if another
// holds by now: SetPolicy may have walked over it before it was there to be
// found. It says whether the flow goes on.
func (g *Gate) recheck(f *flow, under *Policy) bool {
	return g.policy.Load() == under || g.review(f)
}

// review ends a flow that is not allowed any more.
func (g *Gate) review(f *flow) bool {
	v, allowed := g.still(f)
	if !allowed {
		f.judged(v)
		f.stop()
	}
	return allowed
}

// still decides again about something that is open.
func (g *Gate) still(f *flow) (forkbox.NetVerdict, bool) {
	t := f.target()
	switch {
	case isGateway(t.Addr) && g.rules().HostPort(t.Port):
		return forkbox.NetVerdict{}, true
	case isGateway(t.Addr):
		return forkbox.NetVerdict{Target: t, Why: "the box may not reach this port of the host any more"}, false
	case isOwn(t.Addr): // a teammate: no rule decides that
		return forkbox.NetVerdict{}, true
	}
	v := g.rules().Connect(t)
	if denied := aliasDenied(g.rules(), f.aliases()); v.Allowed && denied != nil {
		denied.Target = t
		return *denied, false
	}
	if v.Allowed && g.mustSee(f.relayed(), t) {
		return forkbox.NetVerdict{Target: t, Rule: v.Rule, Why: "only some requests may pass to this host from now on, and nobody can see those of this connection"}, false
	}
	return v, v.Allowed
}

// mustSee says whether what is spoken to a host has to be looked into. What was
// relayed before that cannot be.
func (g *Gate) mustSee(relayed kind, t forkbox.NetTarget) bool {
	if relayed == undecided || t.Host == "" {
		return false
	}
	rules := g.rules()
	return rules.NeedsRequests(t.Host, t.Port) || relayed == tlsHello && rules.Terminates(t.Host, t.Port)
}
