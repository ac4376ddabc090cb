package network

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/gate"
	"github.com/forkbox/forkbox/internal/network/intercept"
	"github.com/forkbox/forkbox/internal/network/rules"
)

// boxGate is that of one running box.
type boxGate struct {
	house  *House
	id     string
	egress *gate.Gate

	update sync.Mutex // held by who changes these
	box    atomic.Pointer[forkbox.Box]
	policy atomic.Pointer[rules.Policy]

	mu     sync.Mutex
	reads  *intercept.Interceptor // nil until there is something to read
	closed bool
}

var _ forkbox.Gate = (*boxGate)(nil)

func (h *House) open(ctx context.Context, box forkbox.Box, inst forkbox.Networked, hears forkbox.Hears) (*boxGate, error) {
	policy, err := h.policy(box)
	if err != nil {
		return nil, err
	}
	device, err := inst.Device(ctx)
	if err != nil {
		return nil, err
	}
	g := &boxGate{house: h, id: box.ID}
	g.box.Store(&box)
	g.policy.Store(policy)
	config := gate.Config{
		Box: box, Device: device, Policy: policy, Resolver: h.Resolver,
		Record: hears.Record, NextID: hears.NextID, Holder: inst.Holder, Decided: h.decided.count,
		Intercept: g.intercept, Limits: limitsOf(box),
	}
	if box.Network.Team != "" && hears.Mates != nil {
		config.Peers = func(name string) (gate.Peer, bool) { return h.mate(hears, box.ID, name) }
	}
	if g.egress, err = gate.Open(config); err != nil {
		device.Close()
		return nil, err
	}
	return g, nil
}

// mate finds the gate of a teammate.
func (h *House) mate(hears forkbox.Hears, self, name string) (gate.Peer, bool) {
	id, ok := hears.Mates(name)
	if !ok || id == self {
		return nil, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	g, ok := h.gates[id]
	if !ok {
		return nil, false
	}
	return g.egress, true
}

func limitsOf(box forkbox.Box) gate.Limits {
	var l gate.Limits
	l.Bandwidth, _ = box.Policy.Of(forkbox.Bandwidth)
	if n, has := box.Policy.Of(forkbox.Connections); has {
		l.Connections = int(n)
	}
	return l
}

// Update has a changed network hold from now on.
func (g *boxGate) Update(box forkbox.Box) error {
	g.update.Lock()
	defer g.update.Unlock()
	return g.set(box)
}

// reconsider has the terms of now hold.
func (g *boxGate) reconsider() error {
	g.update.Lock()
	defer g.update.Unlock()
	return g.set(*g.box.Load())
}

func (g *boxGate) set(box forkbox.Box) error {
	policy, err := g.house.policy(box)
	if err != nil {
		return err
	}
	g.box.Store(&box)
	g.policy.Store(policy)
	g.egress.SetPolicy(policy)
	g.mu.Lock()
	reads := g.reads
	g.mu.Unlock()
	if reads != nil {
		reads.Review()
	}
	g.egress.SetLimits(limitsOf(box))
	return nil
}

// Close ends all connections.
func (g *boxGate) Close() error {
	g.house.mu.Lock()
	if g.house.gates[g.id] == g {
		delete(g.house.gates, g.id)
	}
	g.house.mu.Unlock()
	g.mu.Lock()
	g.closed = true
	reads := g.reads
	g.mu.Unlock()
	// Each may wait for something that only the other ends.
	var reading sync.WaitGroup
	var err error
	if reads != nil {
		reading.Go(func() { err = reads.Close() })
	}
	closed := g.egress.Close()
	reading.Wait()
	return errors.Join(err, closed)
}

// intercept reads the requests of a connection.
func (g *boxGate) intercept(conn net.Conn, m gate.Meta) {
	reads, err := g.interceptor()
	if err != nil {
		g.house.Log.Error("cannot read requests of a box", "box", g.id, "error", err)
		conn.Close()
		return
	}
	reads.Serve(conn, intercept.Meta{Host: m.Host, Addr: m.Addr, TLS: m.TLS, Dial: m.Dial, Refused: m.Record})
}

// interceptor makes one at the first connection that needs it: most boxes
// never have one.
func (g *boxGate) interceptor() (*intercept.Interceptor, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errors.New("the gate is closed")
	}
	if g.reads != nil {
		return g.reads, nil
	}
	ca, err := g.house.authority(*g.box.Load())
	if err != nil {
		return nil, err
	}
	g.reads, err = intercept.New(intercept.Config{
		CA: ca, Secrets: g.secrets, Check: g.check, Connect: g.connect, Terminates: g.terminates, NeedsRequests: g.needsRequests,
	})
	return g.reads, err
}

// What holds is asked for each time: it changes while connections are open.

func (g *boxGate) check(t forkbox.NetTarget) forkbox.NetVerdict   { return g.policy.Load().Request(t) }
func (g *boxGate) connect(t forkbox.NetTarget) forkbox.NetVerdict { return g.policy.Load().Connect(t) }
func (g *boxGate) terminates(host string, port int) bool {
	return g.policy.Load().Terminates(host, port)
}
func (g *boxGate) needsRequests(host string, port int) bool {
	return g.policy.Load().NeedsRequests(host, port)
}

// OwnAddresses are those of this host's interfaces, loopback left out.
func OwnAddresses() (own []netip.Addr, err error) {
	list, err := net.InterfaceAddrs()
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(n.IP); ok && !addr.IsLoopback() {
				own = append(own, addr.Unmap())
			}
		}
	}
	return own, err
}
