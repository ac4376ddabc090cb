package engine

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

var (
	_ Networks          = fakeNetworks{}
	_ Ports             = (*fakePorts)(nil)
	_ forkbox.Networked = fakeInstance{}
)

func (p fakeProvider) NetSupport(mode forkbox.Net) error { return p.supports[mode] }

func (i fakeInstance) Device(context.Context) (*os.File, error) { return nil, os.ErrNotExist }

func (i fakeInstance) Holder(string, netip.AddrPort, netip.AddrPort) (forkbox.Who, bool) {
	return forkbox.Who{}, false
}

func (i fakeInstance) Dial(_ context.Context, port int) (net.Conn, error) {
	i.host.mu.Lock()
	defer i.host.mu.Unlock()
	if !i.listens[port] || i.host.instances[i.id] != i.machine {
		return nil, errors.New("connection refused")
	}
	here, there := net.Pipe()
	there.Close()
	return here, nil
}

func (m *machine) listen(port int) {
	m.with(func(m *machine) { m.listens = map[int]bool{port: true} })
}

// nets is what an imaginary machine keeps for the networks of boxes. It
// outlives engines, but for the gates.
type nets struct {
	mu       sync.Mutex
	prepared map[string]bool
	gates    map[string]*fakeGate
	failures map[string]error // by method
	opened   int
	mode     forkbox.Net // what a caller gets who asks for none; policy if empty
	wider    bool        // gives more than was asked for
}

func newNets() *nets {
	return &nets{prepared: map[string]bool{}, gates: map[string]*fakeGate{}, failures: map[string]error{}}
}

func (n *nets) with(do func(*nets)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do(n)
}

func (n *nets) fail(method string, err error) { n.with(func(n *nets) { n.failures[method] = err }) }

// gate is the open one of a box, nil when there is none.
func (n *nets) gate(box string) (g *fakeGate) {
	n.with(func(n *nets) { g = n.gates[box] })
	return g
}

// fakeGate is an open gate.
type fakeGate struct {
	nets  *nets
	box   forkbox.Box
	hears Hears
	at    forkbox.Networked
	last  int // how many connections are open to its end
}

func (g *fakeGate) Update(box forkbox.Box) error {
	g.nets.mu.Lock()
	defer g.nets.mu.Unlock()
	if err := g.nets.failures["update"]; err != nil {
		return err
	}
	if g.nets.gates[g.box.ID] != g {
		return errors.New("it is closed")
	}
	g.box = box
	return nil
}

func (g *fakeGate) Close() error {
	for range g.last {
		g.hears.Record(forkbox.Conn{ID: g.hears.NextID(), State: forkbox.ConnClosed})
	}
	g.nets.mu.Lock()
	defer g.nets.mu.Unlock()
	if g.nets.gates[g.box.ID] != g {
		return errors.New("closed twice")
	}
	delete(g.nets.gates, g.box.ID)
	return g.nets.failures["close"]
}

// holds is the box as the gate knows it.
func (g *fakeGate) holds() (box forkbox.Box) {
	g.nets.with(func(*nets) { box = g.box })
	return box
}

// fakeNetworks is one engine's way to the nets.
type fakeNetworks struct {
	*nets
	host *host
	fuse *fuse
}

func (n fakeNetworks) act(method string, do func() error) error {
	return n.fuse.step(func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		if err := n.failures[method]; err != nil {
			return err
		}
		return do()
	})
}

func (n fakeNetworks) Resolve(_ forkbox.Owner, asked string, wish forkbox.NetWish) (forkbox.Net, forkbox.Network, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	mode := forkbox.NetPolicy
	team, named := strings.CutPrefix(asked, forkbox.TeamPrefix)
	if !named {
		team = ""
	}
	switch {
	case n.wider:
		return forkbox.NetHost, forkbox.Network{}, nil
	case asked == "":
		mode = core.OrElse(n.mode, mode)
	case team == "":
		mode = forkbox.Net(asked)
	}
	if mode != forkbox.NetPolicy {
		return mode, forkbox.Network{}, nil
	}
	if err := n.failures["resolve"]; err != nil {
		return "", forkbox.Network{}, err
	}
	network := forkbox.Network{Preset: core.OrElse(wish.Preset, forkbox.PresetBalanced), HostPorts: wish.HostPorts, Team: team}
	for _, r := range wish.Rules {
		if strings.Contains(r, "nonsense") {
			return "", network, forkbox.Errorf(forkbox.Invalid, "read the rule", "%q is none", r)
		}
		network.Rules = append(network.Rules, forkbox.NetRule{Rule: strings.ToLower(r), From: "box"})
	}
	network.Rules = append(network.Rules, wish.Found...)
	for _, s := range wish.Secrets {
		if network.Secrets == nil {
			network.Secrets = map[string]string{}
		}
		network.Secrets[s] = ""
	}
	return mode, network, nil
}

func (n fakeNetworks) Prepare(box *forkbox.Box) error {
	return n.act("prepare", func() error {
		n.prepared[box.ID] = true
		box.Network.CA = "CA of " + box.ID
		for name, placeholder := range box.Network.Secrets {
			box.Network.Secrets[name] = core.OrElse(placeholder, "placeholder of "+box.ID+" "+core.NewID())
		}
		return nil
	})
}

func (n fakeNetworks) Remove(box forkbox.Box) error {
	return n.act("remove", func() error { delete(n.prepared, box.ID); return nil })
}

func (n fakeNetworks) Open(_ context.Context, box forkbox.Box, i forkbox.Networked, hears Hears) (forkbox.Gate, error) {
	g := &fakeGate{nets: n.nets, box: box, hears: hears, at: i}
	err := n.act("open", func() error {
		switch {
		case n.host.instance(box.ID) == nil:
			return errors.New("it does not run")
		case n.gates[box.ID] != nil && !n.fuse.isBlown():
			return errors.New("opened twice")
		case !n.prepared[box.ID]:
			return errors.New("it was not prepared")
		}
		n.gates[box.ID] = g
		n.opened++
		return nil
	})
	return g, err
}

func (n fakeNetworks) Explain(_ context.Context, box forkbox.Box, target string) (forkbox.NetVerdict, error) {
	return forkbox.NetVerdict{
		Target: forkbox.NetTarget{Host: target}, Why: "no rule", Remedy: "forkbox net allow " + box.Name + " '" + target + "'",
	}, nil
}

func (n fakeNetworks) Environment(box forkbox.Box) []string {
	env := []string{"SSL_CERT_FILE=/forkbox/ca"}
	for name, placeholder := range box.Network.Secrets {
		env = append(env, name+"="+placeholder)
	}
	return env
}

// fakePorts is what an imaginary machine publishes.
type fakePorts struct {
	mu    sync.Mutex
	taken map[int]bool
	live  map[string][]forkbox.Port
	dial  Dial // the last
}

func newFakePorts() *fakePorts {
	return &fakePorts{taken: map[int]bool{}, live: map[string][]forkbox.Port{}}
}

func (f *fakePorts) Publish(box forkbox.Box, p forkbox.Port, dial func(context.Context, int) (net.Conn, error)) (forkbox.Port, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p.Host == 0 || f.taken[p.Host] {
		if p.Host != 0 {
			return p, forkbox.Errorf(forkbox.Exists, "publish", "port %d is taken", p.Host)
		}
		for p.Host = 40_000; f.taken[p.Host]; p.Host++ {
		}
	}
	f.taken[p.Host], f.dial = true, dial
	f.live[box.ID] = append(f.live[box.ID], p)
	return p, nil
}

func (f *fakePorts) Unpublish(box string, p forkbox.Port) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.live[box], p); i >= 0 {
		f.live[box] = slices.Delete(f.live[box], i, i+1)
		delete(f.taken, p.Host)
	}
}

func (f *fakePorts) Close(box string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.live[box] {
		delete(f.taken, p.Host)
	}
	delete(f.live, box)
}

func (f *fakePorts) URL(box forkbox.Box, port int, dial func(context.Context, int) (net.Conn, error)) (string, error) {
	return "http://" + box.Name + ".localhost", nil
}

// of lists what is published of a box.
func (f *fakePorts) of(box string) []forkbox.Port {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.live[box])
}

// take has another process use a port of the host's, or not any more.
func (f *fakePorts) take(port int, taken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken[port] = taken
}

// netWorld is a world whose boxes have networks.
type netWorld struct {
	*world
	nets  *nets
	ports *fakePorts
}

func newNetWorld(t testing.TB) *netWorld {
	w := &netWorld{world: newWorld(t), nets: newNets(), ports: newFakePorts()}
	w.again(&fuse{})
	return w
}

// again puts a new engine in charge. What the one before had open is closed, as
// the end of a process does, if it was not its own last deed.
func (w *netWorld) again(f *fuse) {
	w.t.Helper()
	w.stopEngine()
	w.Engine = nil
	w.nets.with(func(n *nets) { n.gates = map[string]*fakeGate{} })
	w.ports.mu.Lock()
	w.ports.taken, w.ports.live = map[int]bool{}, map[string][]forkbox.Port{}
	w.ports.mu.Unlock()
	w.host.mayExec = w.mayExec
	w.restart(f, func(c *Config) { c.Networks, c.Ports = fakeNetworks{w.nets, w.host, f}, w.ports })
}

// mayExec is the promise: nothing runs in a box with a gate before that is open.
func (w *netWorld) mayExec(box string) error {
	b, err := w.ledger.Box(context.Background(), box)
	if err == nil && b.Net == forkbox.NetPolicy && w.nets.gate(box) == nil {
		w.t.Errorf("something is run in %s before its gate is open", b.Name)
	}
	return err
}

func (w *netWorld) make(spec CreateSpec) forkbox.Box {
	w.t.Helper()
	b, err := w.Create(context.Background(), ada, spec)
	check(w.t, err)
	return b
}

func (w *netWorld) box(ref string) forkbox.Box {
	w.t.Helper()
	b, err := w.Box(context.Background(), ada, ref)
	check(w.t, err)
	return b
}

// conns is the log of a box.
func (w *netWorld) conns(ref string) (conns []forkbox.Conn) {
	w.t.Helper()
	check(w.t, w.ConnLog(context.Background(), ada, ref, 0, 0, false, func(c forkbox.Conn) error {
		conns = append(conns, c)
		return nil
	}))
	return conns
}
