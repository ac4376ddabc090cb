// Package network opens a gate for each running box, out of what decides
// (netpolicy), what carries (egress), what looks into requests (intercept) and
// what keeps secrets (vault).
package network

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"

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
	// Default is the network of boxes for which none was asked; Floor has to
	// allow what any box reaches; Host is the rest of the configuration.
	Default forkbox.Net
	Floor   []forkbox.NetRule
	Host    rules.Host
	// Own are the addresses of the host's interfaces.
	Own      func() []netip.Addr
	Resolver *gate.Resolver
	Log      *slog.Logger
}

// House has the gates of all running boxes.
type House struct {
	Config
	mu    sync.Mutex
	gates map[string]*boxGate // by box id
}

// New makes a house without any.
func New(c Config) *House { return &House{Config: c, gates: map[string]*boxGate{}} }

// Resolve makes of what was asked for what holds.
func (h *House) Resolve(_ forkbox.Owner, asked string, wish forkbox.NetWish) (forkbox.Net, forkbox.Network, error) {
	if asked == "" {
		asked = string(h.Default)
	}
	switch mode := forkbox.Net(asked); mode {
	case forkbox.NetNone, forkbox.NetHost:
		return mode, forkbox.Network{}, nil
	}
	n, err := rules.Resolve(wish, h.Host)
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
	return rules.New(n.Rules, h.Floor, rules.Options{
		Box: box.Name, HostPorts: n.HostPorts, Own: h.Own, Terminate: slices.Concat(n.Terminate, bound), Pinned: n.Pinned,
	})
}

// Open opens the gate of a box.
func (h *House) Open(ctx context.Context, box forkbox.Box, inst forkbox.Networked, hears forkbox.Hears) (forkbox.Gate, error) {
	g, err := h.open(ctx, box, inst, hears)
	if err != nil {
		return nil, forkbox.Wrap("open the box's gate", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gates[box.ID] = g
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
