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
	stack  atomic.Pointer[stack.Stack] // nil until the box needs one
	making sync.Mutex                  // the stack
	link   *link
	log    *log
	*judge
	names names

	flows    flows
	open     atomic.Int64 // connections and sessions, those being made included
	most     atomic.Int64
	sessions atomic.Int64  // of UDP
	idle     time.Duration // after which one of them ends
	side     chan struct{} // places for what the gate itself answers
	in, out  atomic.Int64  // of flows that have ended
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
		idle:   sessionIdle,
		side:   make(chan struct{}, sideLimit),
		up:     newThrottle(cfg.Limits.Bandwidth),
		down:   newThrottle(cfg.Limits.Bandwidth),
		errors: newThrottle(errorsPerSecond),
	}
	g.cfg = cfg.withDefaults()
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.log = newLog(&g.cfg)
	g.judge = newJudge(g.ctx, &g.cfg, g.log)
	g.names.judge = g.judge
	g.SetLimits(cfg.Limits)
	link, err := newLink(cfg.Device)
	if err != nil {
		cfg.Device.Close()
		return nil, forkbox.Errorf(forkbox.Internal, "open the box's gate", "its device: %w", err)
	}
	g.link, link.admit = link, g.admit
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

// SetPolicy has another policy hold from now on. Connections that it does not
// allow are ended, and that is on record.
func (g *Gate) SetPolicy(p Policy) {
	g.policy.Store(&p)
	for _, f := range g.flows.list() {
		g.endIfRefused(f)
	}
}

// recheck decides again about a flow that was judged under a policy, if another
// holds by now: SetPolicy may have walked over it before it was there to be
// found. It says whether the flow goes on.
func (g *Gate) recheck(f *flow, under *Policy) bool {
	return g.policy.Load() == under || g.endIfRefused(f)
}

// endIfRefused ends a flow that is not allowed any more.
func (g *Gate) endIfRefused(f *flow) bool {
	v, allowed := g.judgeAgain(f)
	if !allowed {
		f.setVerdict(v)
		f.stop()
	}
	return allowed
}

// enter counts a goroutine that Close has to wait for, unless it is too late.
func (g *Gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.work.Add(1)
	}
	return !g.closed
}

func (g *Gate) spawn(f func()) bool {
	if !g.enter() {
		return false
	}
	go func() {
		defer g.work.Done()
		f()
	}()
	return true
}

// Close ends all connections, closes the device, and returns when nothing of the
// gate is left.
func (g *Gate) Close() error {
	g.mu.Lock()
	again := g.closed
	g.closed = true
	g.mu.Unlock()
	if again {
		return nil
	}
	g.cancel()
	g.endAll()
	g.link.close()
	if s := g.stack.Load(); s != nil {
		s.Destroy()
	}
	g.log.close()
	return nil
}

// endAll resets what is open, which the box's programs see, until all that
// served it has returned. Handshakes that are just beginning are only found on
// a later look.
func (g *Gate) endAll() {
	over := make(chan struct{})
	go func() {
		g.work.Wait()
		close(over)
	}()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		for _, f := range g.flows.list() {
			f.stop()
		}
		g.abortAll()
		select {
		case <-over:
			return
		case <-time.After(pause):
		}
	}
}

func (g *Gate) abortAll() {
	s := g.stack.Load()
	if s == nil {
		return
	}
	for _, endpoint := range s.RegisteredEndpoints() {
		endpoint.Abort()
	}
}
