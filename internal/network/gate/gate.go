package gate

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
	stack  atomic.Pointer[stack.Stack] // nil until somebody needs it
	making sync.Mutex                  // the stack
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
	asking   places        // for names, outside
	in, out  atomic.Int64  // of flows that have ended
	asked    atomic.Int64
	up, down *throttle
	errors   *throttle // ICMP errors
	share    share
	dials    dials
	lent     atomic.Int64 // bytes in buffers

	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
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
		asking: make(places, upstreamShare),
		up:     newThrottle(cfg.Limits.Bandwidth),
		down:   newThrottle(cfg.Limits.Bandwidth),
		errors: newThrottle(errorsPerSecond),
	}
	g.cfg = cfg.withDefaults()
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.policy.Store(&cfg.Policy)
	g.pins.policy = &g.policy
	g.SetLimits(cfg.Limits)
	link, err := newLink(cfg.Device)
	if err != nil {
		cfg.Device.Close()
		return nil, forkbox.Errorf(forkbox.Internal, "open the box's gate", "its device: %w", err)
	}
	g.link, link.admit = link, g.admit
	g.log = newLog(&g.cfg)
	go link.run()
	return g, nil
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
