package gates

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/egress"
	"github.com/forkbox/forkbox/internal/intercept"
	"github.com/forkbox/forkbox/internal/netpolicy"
)

// gate is that of one running box.
type gate struct {
	house  *House
	id     string
	egress *egress.Gate

	box    atomic.Pointer[forkbox.Box]
	policy atomic.Pointer[netpolicy.Policy]

	mu     sync.Mutex
	reads  *intercept.Interceptor // nil until there is something to read
	closed bool
}

var _ forkbox.Gate = (*gate)(nil)

func (h *House) open(ctx context.Context, box forkbox.Box, inst forkbox.Networked, hears Hears) (*gate, error) {
	policy, err := h.policy(box)
	if err != nil {
		return nil, err
	}
	device, err := inst.Device(ctx)
	if err != nil {
		return nil, err
	}
	g := &gate{house: h, id: box.ID}
	g.box.Store(&box)
	g.policy.Store(policy)
	config := egress.Config{
		Box: box, Device: device, Policy: policy, Resolver: h.Resolver,
		Record: hears.Record, NextID: hears.NextID, Holder: inst.Holder,
		Intercept: g.intercept, Limits: limitsOf(box),
	}
	if box.Network.Team != "" && hears.Mates != nil {
		config.Peers = func(name string) (egress.Peer, bool) { return h.mate(hears, box.ID, name) }
	}
	if g.egress, err = egress.Open(config); err != nil {
		device.Close()
		return nil, err
	}
	return g, nil
}

// mate finds the gate of a teammate.
func (h *House) mate(hears Hears, self, name string) (egress.Peer, bool) {
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

func limitsOf(box forkbox.Box) egress.Limits {
	var l egress.Limits
	l.Bandwidth, _ = box.Policy.Of(forkbox.Bandwidth)
	if n, has := box.Policy.Of(forkbox.Connections); has {
		l.Connections = int(n)
	}
	return l
}

// Update has a changed network hold from now on.
func (g *gate) Update(box forkbox.Box) error {
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
func (g *gate) Close() error {
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
func (g *gate) intercept(conn net.Conn, m egress.Meta) {
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
func (g *gate) interceptor() (*intercept.Interceptor, error) {
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

func (g *gate) check(t forkbox.NetTarget) forkbox.NetVerdict   { return g.policy.Load().Request(t) }
func (g *gate) connect(t forkbox.NetTarget) forkbox.NetVerdict { return g.policy.Load().Connect(t) }
func (g *gate) terminates(host string, port int) bool          { return g.policy.Load().Terminates(host, port) }
func (g *gate) needsRequests(host string, port int) bool {
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
