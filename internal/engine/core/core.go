// Package core is what the managers of the engine have in common: the ledger
// and the provider, operations, the turns of boxes, the instances that run, what
// is told of them, and how a box is found by its name. It knows no verb.
//
// # The locking rule
//
// There are five kinds of locks. A caller takes them in this order and never
// takes an earlier kind while it holds a later one:
//
//  1. The token for reality, which the manager of landings owns. The operation
//     that writes to reality holds it.
//  2. The turn of a box ([Core.Lock], [Core.Take], [Core.Change]). Its holder may
//     change the box's state, in the ledger and in the world. It is held while an
//     instance starts or stops; a caller who waits for it can give up. A caller
//     who compares two boxes takes their turns in one order. A box that is being
//     made comes last: no other caller knows it. A landing marks other boxes
//     stale while it holds its own box's turn, and for that waits two seconds at
//     most. No caller waits for a place on the host while it holds a turn.
//  3. The token for templates, which the manager of layers owns. Under it only the
//     turn of a box that is being made is taken.
//  4. [Handle.Mu] of a box: what is read and changed in passing, of the instance
//     ([Attached]) and of what managers keep with it ([Slot]). It is held for
//     moments, at most while the ledger writes a row, and never while waiting for
//     a turn, an instance or another box.
//  5. The mutexes inside the core and inside each manager: of the line of those
//     who wait for the host, of the layers that are being made, of looks. They
//     guard fields of their own package, and nothing is waited for under them,
//     with one exception: an operation that unpacks a root holds the lock of roots
//     shared, and the sweeper takes that lock only if it need not wait.
//
// What the ledger says comes first: a box is written down before anything of it
// exists, and is forgotten after everything of it is gone.
package core

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/trace"
)

// Config is what a core is made of.
type Config struct {
	Ledger   forkbox.Ledger
	Provider forkbox.Provider
	Logs     Logs
	// Records are what the store says of itself. May be nil.
	Records Records
	// Receipts is the directory that what applies replaced is kept in.
	Receipts string

	// What of a user's environment and home boxes are not shown; see
	// engine.Config.
	Secrets    func(env, allow []string) (kept, dropped []string)
	Places     func(env []string, home, dir string, allow []string) []string
	CheckAllow func(allow []string, who forkbox.Owner, places []string) error
	Hidden     func(home string) []string

	// Now is the time, FenceNow the time as filesystems stamp it, and Clock
	// what this run of the host is called and how long it is on.
	Now      func() time.Time
	FenceNow func() time.Time
	Clock    func() (boot string, since time.Duration)
	// Reserve says whether the disk that the host keeps for itself is touched.
	// May be nil.
	Reserve func() (short bool, why string)

	// Measure is told how long each operation took. May be nil.
	Measure func(op string, took time.Duration)

	Log *slog.Logger
}

// Core is safe for concurrent use.
type Core struct {
	Config
	// Find finds the instance of a box that the ledger says runs, nil when it
	// turns out that none does; then the ledger says so too. The caller has the
	// box's turn. It is the manager of boxes that does so, and it is set before
	// the first verb.
	Find func(ctx context.Context, h *Handle, box *forkbox.Box) (*Attached, error)

	// Ctx ends with Stop. It is the context of what no caller asked for.
	Ctx    context.Context
	cancel context.CancelFunc
	Work   sync.WaitGroup // operations and the goroutines that tend boxes

	wire wire // to those who follow events

	mu      sync.Mutex // the last to be taken
	closed  bool
	ops     int
	handles map[string]*Handle // by box id; a box at rest has none
}

// New makes a core. What c leaves open gets a default.
func New(c Config) *Core {
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
	if c.FenceNow == nil {
		c.FenceNow = c.Now
	}
	if c.Clock == nil {
		c.Clock = sinceStart()
	}
	core := &Core{Config: c, handles: map[string]*Handle{}}
	core.wire.core = core
	core.Ctx, core.cancel = context.WithCancel(context.Background())
	return core
}

// Stop ends what callers are waiting for, and begins no more operations.
func (c *Core) Stop() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
}

// Logs keeps the output of execs.
type Logs interface {
	// Create makes the file that an instance writes an exec's output to.
	Create(box, exec string) (*os.File, error)
	// Read yields what is kept. With follow it goes on until ended says that
	// no more will come.
	Read(ctx context.Context, box, exec string, follow bool, ended func() bool, yield func(forkbox.LogRecord) error) error
}

// ExitLogs is a [Logs] whose files also say how their exec ended: it knows the
// exit of an exec that ended while no daemon watched.
type ExitLogs interface {
	Exit(box, exec string) (forkbox.Exit, forkbox.Output, bool)
}

// InUse says whether boxes run or operations go on.
func (c *Core) InUse() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ops > 0 || len(c.handles) > 0
}

// Begin starts an operation, whose context ends when the caller's or the
// engine's does. The operation is over when end is called.
func (c *Core) Begin(ctx context.Context, op string) (_ context.Context, end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosing(op)
	}
	c.ops++
	c.Work.Add(1)
	ctx, span := trace.Start(ctx, op)
	ctx, cancel := context.WithCancel(ctx)
	detach := context.AfterFunc(c.Ctx, cancel)
	began := time.Now()
	return ctx, func() {
		detach()
		cancel()
		c.Took(op, time.Since(began))
		span.End(nil)
		c.mu.Lock()
		c.ops--
		c.mu.Unlock()
		c.Work.Done()
	}, nil
}

// WaitForHost is what standing in line for the host is called where it is measured.
const WaitForHost = "wait for the host"

// Took tells how long something took.
func (c *Core) Took(op string, took time.Duration) {
	if c.Measure != nil {
		c.Measure(op, took)
	}
}

// UID is the user that the daemon runs as, to whom belongs what is no owner's.
func (c *Core) UID() int { return os.Geteuid() }

// ErrClosing is the answer to a caller who comes when the daemon is ending.
func ErrClosing(op string) *forkbox.Error {
	return forkbox.Errorf(forkbox.Unavailable, op, "the daemon is stopping").
		Hint("try again: the next command starts a new one")
}

// IsNotFound says whether an error is that something is not there.
func IsNotFound(err error) bool {
	var e *forkbox.Error
	return errors.As(err, &e) && e.Code == forkbox.NotFound
}

// OrElse is v, or if that is zero the other.
func OrElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// AsError is an error that can be told with others.
func AsError(err error) *forkbox.Error {
	var e *forkbox.Error
	if errors.As(forkbox.Wrap("fork", err), &e) {
		return e
	}
	return forkbox.Errorf(forkbox.Internal, "fork", "%w", err)
}
