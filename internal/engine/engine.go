// Package engine has the verbs of forkbox: create, exec, stop, remove and the
// rest. It makes no system calls and speaks no HTTP: it decides, writes its
// decision to the ledger, and has a provider act on it.
//
// The order of writing and acting is what promise 6 (nothing leaks) rests on.
// A box is in the ledger before anything of it exists, is "running" there
// before its instance is started and until the instance is gone, and leaves
// the ledger after everything of it is gone. So whatever a crash leaves
// behind, the ledger knows of it, and [Engine.Reconcile] clears it away.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/retention"
)

// Config is what an engine is made of.
type Config struct {
	Ledger   forkbox.Ledger
	Provider forkbox.Provider
	Logs     Logs
	// Secrets takes the variables that look like credentials out of an
	// environment, except those that allow names. Without it no variable is
	// passed at all.
	Secrets func(env, allow []string) (kept, dropped []string)
	// Places finds the variables of an environment that name where credentials
	// lie. dir is what relative paths are relative to.
	Places func(env []string, home, dir string, allow []string) []string
	// CheckAllow refuses secrets that a box cannot be allowed as it was said.
	CheckAllow func(allow []string, who forkbox.Owner, places []string) error
	// Hidden lists the secret paths below a home that boxes do not see.
	Hidden func(home string) []string

	// Receipts is the directory that what applies replaced is kept in. Without
	// one nothing can be applied.
	Receipts string
	// Bases is the directory that keeps what reality was when a box was
	// forked. It goes with the box.
	Bases func(box string) string
	// Records are what the store says of itself, for Repair. May be nil.
	Records Records
	// Fence is the time as filesystems stamp it: whatever is written from now
	// on has this time or a later one. Now, if nil.
	Fence func() time.Time

	// Retention says how long boxes stay. RetentionErr is why that is not
	// known: then nothing is removed by itself.
	Retention    retention.Policy
	RetentionErr error

	UndoAge  time.Duration // how long an apply can be undone; 14 days if zero
	UndoSize int64         // bytes kept for that, of all applies; 10 GiB if zero

	LogCap    int64         // bytes of output kept per exec; 16 MiB if zero
	RestAfter time.Duration // how long a box idles before it goes to rest; 30 s if zero
	StopGrace time.Duration // between TERM and KILL; 10 s if zero

	// Policies resolves limits and admits. Without them nothing is limited but
	// times and kept output, and everybody is admitted.
	Policies Policies
	// Clock names this run of the host and says how long it is on, with the
	// time that it slept.
	Clock func() (boot string, since time.Duration)
	// Networks decides what boxes may reach and opens their gates. Without it a
	// box has no network, or the host's.
	Networks Networks
	// Ports publishes ports of boxes on the host's loopback. Without it none
	// are.
	Ports Ports
	// Series is the file that keeps what a box used in the last hour; none if
	// it is empty.
	Series func(box string) string
	// Reserve says whether the disk that the host keeps for itself is touched.
	Reserve func() (short bool, why string)

	Tick        time.Duration // how often clocks are looked at; 10 s if zero
	SampleEvery time.Duration // how often what boxes use is measured; 5 s if zero
	WatchEvery  time.Duration // how often the disk of boxes is looked at; 1 s if zero

	Log *slog.Logger
	Now func() time.Time
}

// Logs keeps the output of execs.
type Logs interface {
	// Create makes the file that an instance writes an exec's output to.
	Create(box, exec string) (*os.File, error)
	// Read yields what is kept. With follow it goes on until ended says that
	// no more will come.
	Read(ctx context.Context, box, exec string, follow bool, ended func() bool, yield func(forkbox.LogRecord) error) error
}

// exitLogs is a [Logs] whose files also say how their exec ended: it knows the
// exit of an exec that ended while nobody was watching.
type exitLogs interface {
	Exit(box, exec string) (forkbox.Exit, forkbox.Output, bool)
}

// Engine is safe for concurrent use.
type Engine struct {
	ledger    forkbox.Ledger
	provider  forkbox.Provider
	logs      Logs
	secrets   func(env, allow []string) (kept, dropped []string)
	hidden    func(home string) []string
	places    func(env []string, home, dir string, allow []string) []string
	allow     func(allow []string, who forkbox.Owner, places []string) error
	receipts  string
	bases     func(box string) string
	kept      Records // may be nil
	fence     func() time.Time
	undoAge   time.Duration
	undoSize  int64
	logCap    int64
	restAfter time.Duration
	stopGrace time.Duration
	log       *slog.Logger
	now       func() time.Time

	networks  Networks // may be nil, as ports may
	ports     Ports
	records   *recorder
	followers followers
	connID    atomic.Int64 // the last that was given

	policies    Policies
	admitsAll   bool // there are no policies: nobody has to ask
	clock       func() (boot string, since time.Duration)
	seriesFile  func(box string) string
	reserve     func() (short bool, why string)
	tick        time.Duration
	sampleEvery time.Duration
	watchEvery  time.Duration
	queue       *queue
	news        news
	guard       sync.Once

	retention    retention.Policy
	retentionErr error
	outcomes     outcomes
	uploads      uploads

	// ctx ends with Close. It is the context of what no caller asked for.
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // operations and the goroutines that tend boxes

	// reality has a token: whoever writes to reality holds it. Whoever wants a
	// box's turn as well takes this first.
	reality chan struct{}
	scans   scans
	looks   looks
	sharing sharing
	shelf   shelf
	// pool has a token: whoever changes or uses templates holds it.
	pool chan struct{}

	// finder finds the instance of a box: the manager of boxes does that.
	finder func(ctx context.Context, h *handle, box *forkbox.Box) (*attached, error)
	hooks  hooks

	mu      sync.Mutex
	closed  bool
	ops     int
	handles map[string]*handle // by box id; a box at rest has none
}

// New makes an engine. Call [Engine.Reconcile] before the first verb.
func New(c Config) *Engine {
	if c.Secrets == nil {
		c.Secrets = func(env, _ []string) ([]string, []string) { return nil, env }
	}
	if c.Hidden == nil {
		c.Hidden = func(string) []string { return nil }
	}
	if c.Places == nil {
		c.Places = func([]string, string, string, []string) []string { return nil }
	}
	if c.CheckAllow == nil {
		c.CheckAllow = func([]string, forkbox.Owner, []string) error { return nil }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Fence == nil {
		c.Fence = c.Now
	}
	none := c.Policies == nil
	if none {
		c.Policies = unlimited{}
	}
	if c.Clock == nil {
		c.Clock = sinceStart()
	}
	if c.Series == nil {
		c.Series = func(string) string { return "" }
	}
	e := &Engine{
		policies: c.Policies, admitsAll: none, clock: c.Clock, seriesFile: c.Series, reserve: c.Reserve,
		tick:        orElse(c.Tick, 10*time.Second),
		sampleEvery: orElse(c.SampleEvery, 5*time.Second),
		watchEvery:  orElse(c.WatchEvery, time.Second),
		queue:       newQueue(c.Policies),
		sharing:     sharing{turn: make(chan struct{}, 1)},
		networks:    c.Networks, ports: c.Ports,
		receipts: c.Receipts, bases: c.Bases, kept: c.Records, fence: c.Fence,
		undoAge:  orElse(c.UndoAge, 14*24*time.Hour),
		undoSize: orElse(c.UndoSize, 10<<30),
		ledger:   c.Ledger, provider: c.Provider, logs: c.Logs,
		secrets: c.Secrets, hidden: c.Hidden, places: c.Places, allow: c.CheckAllow,
		logCap:    orElse(c.LogCap, 16<<20),
		restAfter: orElse(c.RestAfter, 30*time.Second),
		stopGrace: orElse(c.StopGrace, 10*time.Second),
		log:       c.Log, now: c.Now, retention: c.Retention, retentionErr: c.RetentionErr,
		handles: map[string]*handle{}, reality: make(chan struct{}, 1), pool: make(chan struct{}, 1),
	}
	e.finder = e.found
	e.hooks = hooks{decideSync: e.decideSyncIn, forgetSync: e.forgetSync, observe: e.observe}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.records = newRecorder(e.ledger.SaveConns, e.followers.tell, e.log)
	return e
}

// Close lets go of the boxes, which go on running without their network, and
// ends what callers are waiting for. It returns when that is over or ctx is.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.work.Wait()
		e.closeAllNets()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		e.closeRecords()
		return forkbox.Errorf(forkbox.TimedOut, "close engine", "operations are still going on: %w", ctx.Err())
	}
}

// Busy says whether boxes run or operations go on: whether the daemon is of
// any use to anybody.
func (e *Engine) Busy() bool {
	w, ok := e.provider.(warmer)
	return e.inUseNow() || ok && w.Warmed()
}

// inUseNow says whether boxes run or operations go on.
func (e *Engine) inUseNow() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ops > 0 || len(e.handles) > 0
}

// begin starts an operation, whose context ends when the caller's or the
// engine's does. The operation is over when end is called.
func (e *Engine) begin(ctx context.Context, op string) (_ context.Context, end func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, nil, errClosing(op)
	}
	e.ops++
	e.work.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	detach := context.AfterFunc(e.ctx, cancel)
	return ctx, func() {
		detach()
		cancel()
		e.mu.Lock()
		e.ops--
		e.mu.Unlock()
		e.work.Done()
	}, nil
}

// uid is whose the engine is: what is nobody's in particular is theirs.
func (e *Engine) uid() int { return os.Geteuid() }

func errClosing(op string) *forkbox.Error {
	return forkbox.Errorf(forkbox.Unavailable, op, "the daemon is stopping").
		Hint("try again: the next command starts a new one")
}

func isNotFound(err error) bool {
	var e *forkbox.Error
	return errors.As(err, &e) && e.Code == forkbox.NotFound
}
