// Package network opens a gate for each running box, out of what decides
// (netpolicy), what carries (egress), what looks into requests (intercept) and
// what keeps secrets (vault).
package network

import (
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/miekg/dns"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/gate"
	"github.com/forkbox/forkbox/internal/network/rules"
	"github.com/forkbox/forkbox/internal/network/vault"
)

// Config is what the gates of one daemon have in common.
type Config struct {
	// Dir keeps the keys of boxes' certificate authorities.
	Dir   string
	Vault *vault.Vault
	Terms
	// Own are the addresses of the host's interfaces.
	Own      func() []netip.Addr
	Resolver *gate.Resolver
	Log      *slog.Logger
}

// Terms are what the host says of the networks of boxes, as long as it says
// nothing else.
type Terms struct {
	// Default is the network of boxes for which none was asked; Floor has to
	// allow what any box reaches; Host is the rest of the configuration.
	Default forkbox.Net
	Floor   []forkbox.NetRule
	Host    rules.Host
}

// House has the gates of all running boxes.
type House struct {
	Config
	terms atomic.Pointer[Terms] // those of now; Config has the first
	mu    sync.Mutex
	gates map[string]*boxGate // by box id

	decided decisions
}

// decisions counts what gates allowed and what they refused.
type decisions struct{ allowed, refused atomic.Uint64 }

func (d *decisions) count(allowed bool) {
	if allowed {
		d.allowed.Add(1)
	} else {
		d.refused.Add(1)
	}
}

// Decisions are how many attempts of all boxes were allowed, and how many were
// refused.
func (h *House) Decisions() (allowed, refused uint64) {
	return h.decided.allowed.Load(), h.decided.refused.Load()
}

// New makes a house without any.
func New(c Config) *House {
	h := &House{Config: c, gates: map[string]*boxGate{}}
	h.terms.Store(&c.Terms)
	return h
}

// Reconfigure has other terms hold from now on, also for boxes that run. A gate
// that cannot have them is closed: what the new floor forbids must not stay
// open.
func (h *House) Reconfigure(t Terms) {
	h.terms.Store(&t)
	h.mu.Lock()
	gates := slices.Collect(maps.Values(h.gates))
	h.mu.Unlock()
	for _, g := range gates {
		if err := g.reconsider(); err != nil {
			h.Log.Error("a box has no network any more: the new floor cannot hold for it", "box", g.id, "error", err)
			_ = g.Close()
		}
	}
}

// Resolve makes of what was asked for what holds.
func (h *House) Resolve(_ forkbox.Owner, asked string, wish forkbox.NetWish) (forkbox.Net, forkbox.Network, error) {
	terms := h.terms.Load()
	if asked == "" {
		asked = string(terms.Default)
	}
	switch mode := forkbox.Net(asked); mode {
	case forkbox.NetNone, forkbox.NetHost:
		return mode, forkbox.Network{}, nil
	}
	n, err := rules.Resolve(wish, terms.Host)
	if err != nil {
		return "", forkbox.Network{}, err
	}
	if asked != string(forkbox.NetPolicy) {
		n.Team = strings.TrimPrefix(asked, forkbox.TeamPrefix)
	}
	return forkbox.NetPolicy, n, nil
}

// policy is what holds for a box now.
func (h *House) policy(box forkbox.Box) (*rules.Policy, error) {
	bound, err := h.boundHosts(box)
	if err != nil {
		return nil, err
	}
	n := box.Network
	return rules.New(n.Rules, h.terms.Load().Floor, rules.Options{
		Box: box.Name, HostPorts: n.HostPorts, Own: h.Own, Terminate: slices.Concat(n.Terminate, bound), Pinned: n.Pinned,
	})
}

// Open opens the gate of a box.
func (h *House) Open(ctx context.Context, box forkbox.Box, inst forkbox.Networked, hears forkbox.Hears) (forkbox.Gate, error) {
	under := h.terms.Load()
	g, err := h.open(ctx, box, inst, hears)
	if err != nil {
		return nil, forkbox.Wrap("open the box's gate", err)
	}
	h.mu.Lock()
	h.gates[box.ID] = g
	h.mu.Unlock()
	if h.terms.Load() != under { // they changed before the gate could be found
		if err := g.reconsider(); err != nil {
			_ = g.Close()
			return nil, forkbox.Wrap("open the box's gate", err)
		}
	}
	return g, nil
}

// Explain says what the gate of a box would make of a target.
func (h *House) Explain(ctx context.Context, box forkbox.Box, target string) (forkbox.NetVerdict, error) {
	t, err := parseTarget(target)
	if err != nil {
		return forkbox.NetVerdict{}, err
	}
	policy, err := h.policy(box)
	if err != nil {
		return forkbox.NetVerdict{}, err
	}
	return h.explain(ctx, policy, t), nil
}

// explain follows a connection through the gate: its name, the addresses that
// the name has, the connection, and the request where that is seen.
func (h *House) explain(ctx context.Context, policy *rules.Policy, t target) forkbox.NetVerdict {
	if t.Host != "" {
		if t.Host == forkbox.HostName {
			return policy.Connect(t.NetTarget)
		}
		if v := policy.Name(t.Host); !v.Allowed {
			return policy.Connect(t.NetTarget) // which knows the port
		}
		t.Addr = h.firstAddress(ctx, policy, t.Host)
	}
	v := policy.Connect(t.NetTarget)
	if v.Allowed && t.request && (t.plain || policy.Terminates(t.Host, t.Port)) {
		v = policy.Request(t.NetTarget)
	}
	return v
}

// firstAddress is one that the gate would give out, or the first that there is
// otherwise: then the verdict says why not.
func (h *House) firstAddress(ctx context.Context, policy *rules.Policy, host string) netip.Addr {
	if h.Resolver == nil {
		return netip.Addr{}
	}
	var addrs []netip.Addr
	for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
		reply, err := h.Resolver.Lookup(ctx, host, kind)
		if err == nil {
			addrs = append(addrs, reply.Addrs...)
		}
	}
	if len(addrs) == 0 {
		return netip.Addr{}
	}
	if i := slices.IndexFunc(addrs, func(a netip.Addr) bool { return policy.Answer(host, a) }); i >= 0 {
		return addrs[i]
	}
	return addrs[0]
}
