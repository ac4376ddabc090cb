package gate

import (
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forkbox/forkbox"
)

// flow is one connection or session of the box that was allowed.
type flow struct {
	gate   *Gate
	ctx    context.Context
	cancel context.CancelFunc
	// cut ends both sides, so that the goroutine that serves it returns.
	cut     func()
	release func()       // the pin
	held    func() int64 // bytes in buffers
	in, out atomic.Int64

	mu     sync.Mutex
	record forkbox.Conn
	relays kind     // what is relayed without being looked into; undecided if nothing is
	by     []string // names that the answer for its host came by
}

// reserve takes one of the places that the box's limit of connections has. It
// is given back with leave.
func (g *Gate) reserve() bool {
	if g.open.Add(1) > g.most.Load() {
		g.open.Add(-1)
		return false
	}
	return true
}

func (g *Gate) vacate() { g.open.Add(-1) }

// start has an allowed attempt on record, with the process that made it where
// that can be told.
func (g *Gate) start(w way, by forkbox.Who, cut func(), held func() int64) *flow {
	f := &flow{gate: g, cut: cut, held: held, record: g.log.newRecord(w.verdict, forkbox.ConnOpen)}
	g.log.decided(true)
	setWho(&f.record, by)
	f.ctx, f.cancel = context.WithCancel(g.ctx)
	f.release = g.pins.hold(w.verdict.Target.Addr)
	f.by = g.pins.aliases(w.verdict.Target.Addr, w.verdict.Target.Host)
	g.flows.add(f)
	g.recheck(f, w.under)
	g.cfg.Record(f.snapshot())
	return f
}

func (f *flow) snapshot() forkbox.Conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.record
}

// setVerdict puts what was found out about a flow into its record: the name that the
// client said, or why it ends.
func (f *flow) setVerdict(v forkbox.NetVerdict) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v.Allowed && f.record.State == forkbox.ConnRefused {
		return // it was ended meanwhile, and that is why
	}
	if v.Target.Host != f.record.Target.Host {
		f.by = f.gate.pins.aliases(v.Target.Addr, v.Target.Host)
	}
	f.record.NetVerdict = tidy(v)
	if !v.Allowed {
		f.record.State = forkbox.ConnRefused
	}
}

// end has it on record that a flow is over.
func (f *flow) end() {
	f.cancel()
	f.gate.flows.remove(f)
	f.release()
	f.mu.Lock()
	if f.record.State == forkbox.ConnOpen {
		f.record.State = forkbox.ConnClosed
	}
	f.record.In, f.record.Out = f.in.Load(), f.out.Load()
	f.record.Lasted = time.Since(f.record.Time)
	record := f.record
	f.mu.Unlock()
	f.gate.in.Add(record.In)
	f.gate.out.Add(record.Out)
	f.gate.cfg.Record(record)
}

// stop ends both sides, and what an interceptor has besides.
func (f *flow) stop() {
	f.cancel()
	f.cut()
}

// verdict is what was made of it so far.
func (f *flow) verdict() forkbox.NetVerdict { return f.snapshot().NetVerdict }

// target is what it is connected to.
func (f *flow) target() forkbox.NetTarget { return f.verdict().Target }

// aliases are the names that the answer for its host came by. They are its own:
// pins come and go, and the name may have another answer by now.
func (f *flow) aliases() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.by
}

// setRelayed notes what is relayed from now on.
func (f *flow) setRelayed(k kind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.relays = k
}

func (f *flow) relayed() kind {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.relays
}

// flows are the open ones.
type flows struct {
	mu  sync.Mutex
	all map[*flow]struct{}
}

func (fs *flows) add(f *flow) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.all == nil {
		fs.all = map[*flow]struct{}{}
	}
	fs.all[f] = struct{}{}
}

func (fs *flows) remove(f *flow) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	delete(fs.all, f)
}

func (fs *flows) list() []*flow {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	list := make([]*flow, 0, len(fs.all))
	for f := range fs.all {
		list = append(list, f)
	}
	return list
}

// counted is a connection of an interceptor's to the world: its bytes count as
// the box's.
type counted struct {
	net.Conn
	flow *flow
	stop func() bool
}

// track has a connection end with the flow that it belongs to.
func (f *flow) track(conn net.Conn) net.Conn {
	stop := context.AfterFunc(f.ctx, func() { conn.Close() })
	return &counted{Conn: conn, flow: f, stop: stop}
}

func (c *counted) Read(p []byte) (int, error) {
	down := c.flow.gate.down
	n, err := c.Conn.Read(p[:down.piece(len(p))])
	c.flow.in.Add(int64(n))
	down.wait(c.flow.ctx, n)
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	sent := 0
	err := c.flow.gate.up.pace(c.flow.ctx, p, func(piece []byte) (int, error) {
		n, err := c.Conn.Write(piece)
		sent += n
		c.flow.out.Add(int64(n))
		return n, err
	})
	return sent, err
}

func (c *counted) CloseWrite() error {
	closeWrite(c.Conn)
	return nil
}

func (c *counted) Close() error {
	if c.stop != nil {
		c.stop()
	}
	return c.Conn.Close()
}

// quote is a name from the box, fit to be read: it may hold any bytes.
func quote(name string) string {
	if len(name) > 255 {
		name = name[:255] + "…"
	}
	return strconv.Quote(name)
}
