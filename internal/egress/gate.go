package egress

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forkbox/forkbox"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// Gate is what a running box's traffic goes through.
type Gate struct {
	cfg    Config
	stack  *stack.Stack
	link   *link
	log    *log
	pins   *pins
	stands *standIns
	policy atomic.Pointer[Policy]

	flows    flows
	open     atomic.Int64 // connections and sessions, those being made included
	most     atomic.Int64
	sessions atomic.Int64  // of UDP
	idle     time.Duration // after which one of them ends
	side     chan struct{} // places for what the gate itself answers
	in, out  atomic.Int64  // of flows that have ended
	asked    atomic.Int64
	up, down *throttle
	errors   *throttle // ICMP errors
	share    share

	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
	names  []*nameServer
}

const (
	defaultConnections = 4096
	sessionLimit       = 1024
	sideLimit          = 128
	errorsPerSecond    = 1000
)

// Open starts the gate of a box. Its device is the gate's from now on, also
// when this fails.
func Open(cfg Config) (*Gate, error) {
	g := &Gate{
		pins:   newPins(),
		stands: newStandIns(),
		idle:   sessionIdle,
		side:   make(chan struct{}, sideLimit),
		up:     newThrottle(cfg.Limits.Bandwidth),
		down:   newThrottle(cfg.Limits.Bandwidth),
		errors: newThrottle(errorsPerSecond),
	}
	g.cfg = cfg.withDefaults()
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.policy.Store(&cfg.Policy)
	g.SetLimits(cfg.Limits)
	link, err := newLink(cfg.Device)
	if err != nil {
		cfg.Device.Close()
		return nil, forkbox.Errorf(forkbox.Internal, "open the box's gate", "its device: %w", err)
	}
	g.link, link.admit = link, g.admit
	if err := g.newStack(); err != nil {
		cfg.Device.Close()
		return nil, forkbox.Errorf(forkbox.Internal, "open the box's gate", "%w", err)
	}
	g.log = newLog(&g.cfg)
	for _, server := range g.names {
		g.spawn(server.run)
	}
	go link.run()
	return g, nil
}

// rules is the policy that holds now.
func (g *Gate) rules() Policy { return *g.policy.Load() }

// SetPolicy has another policy hold from now on. Connections that it does not
// allow are ended, and that is on record.
func (g *Gate) SetPolicy(p Policy) {
	g.policy.Store(&p)
	for _, f := range g.flows.list() {
		if v, allowed := g.still(f); !allowed {
			f.judged(v)
			f.stop()
		}
	}
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
	return v, v.Allowed
}

// SetLimits changes how much the box may use. Connections that are open stay.
func (g *Gate) SetLimits(l Limits) {
	most := l.Connections
	if most <= 0 {
		most = defaultConnections
	}
	g.most.Store(int64(most))
	g.up.set(l.Bandwidth)
	g.down.set(l.Bandwidth)
}
