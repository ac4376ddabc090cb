// Package engine has the verbs of forkbox: create, exec, stop, remove and the
// rest. It speaks no HTTP and isolates nothing: it decides, writes its decision to
// the ledger, and has a provider act on it. It reads and writes files of reality
// itself where they land or are looked at, by way of internal/storage and
// internal/review.
//
// The verbs are those of managers, a package each, over one small core: [New] puts
// them together, and says who knows whom. Package core has the rule of locking.
//
// The order of writing and acting is what promise 6 (nothing leaks) rests on.
// A box is in the ledger before anything of it exists, is "running" there
// before its instance is started and until the instance is gone, and leaves
// the ledger after everything of it is gone. So whatever a crash leaves
// behind, the ledger knows of it, and [Engine.Reconcile] clears it away.
package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/boxes"
	"github.com/forkbox/forkbox/internal/engine/changes"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/execs"
	"github.com/forkbox/forkbox/internal/engine/files"
	"github.com/forkbox/forkbox/internal/engine/forks"
	"github.com/forkbox/forkbox/internal/engine/gc"
	"github.com/forkbox/forkbox/internal/engine/landing"
	"github.com/forkbox/forkbox/internal/engine/limits"
	"github.com/forkbox/forkbox/internal/engine/network"
	"github.com/forkbox/forkbox/internal/engine/services"
	"github.com/forkbox/forkbox/internal/engine/shelf"
	"github.com/forkbox/forkbox/internal/engine/snapshots"
	"github.com/forkbox/forkbox/internal/retention"
)

// Config is what an engine is made of.
type Config struct {
	Ledger   forkbox.Ledger
	Provider forkbox.Provider
	Logs     core.Logs
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
	Records core.Records
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
	// times and kept output, and every caller is admitted.
	Policies limits.Policies
	// Clock names this run of the host and says how long it is on, with the
	// time that it slept.
	Clock func() (boot string, since time.Duration)
	// Networks decides what boxes may reach and opens their gates. Without it a
	// box has no network, or the host's.
	Networks network.Networks
	// Ports publishes ports of boxes on the host's loopback. Without it none
	// are.
	Ports network.Ports
	// Services knows those of this machine. Without it no box has copies of any.
	Services services.Machine
	// Series is the file that keeps what a box used in the last hour; none if
	// it is empty.
	Series func(box string) string
	// Reserve says whether the disk that the host keeps for itself is touched.
	Reserve func() (short bool, why string)

	Tick        time.Duration // how often clocks are looked at; 10 s if zero
	SampleEvery time.Duration // how often what boxes use is measured; 5 s if zero
	WatchEvery  time.Duration // how often the disk of boxes is looked at; 1 s if zero

	// Measure is told how long each operation took, by its name. May be nil.
	Measure func(op string, took time.Duration)

	Log *slog.Logger
	Now func() time.Time
}

// Engine is all managers together; its verbs are theirs. It is safe for
// concurrent use.
type Engine struct {
	core *core.Core
	*networkManager
	*limitsManager
	*basesManager
	*shelfManager
	*boxesManager
	*execsManager
	*filesManager
	*snapshotsManager
	*changesManager
	*landingManager
	*forksManager
	*servicesManager
	*gcManager
}

// New makes an engine. Call [Engine.Reconcile] before the first verb.
func New(c Config) *Engine {
	k := core.New(core.Config{
		Ledger: c.Ledger, Provider: c.Provider, Logs: c.Logs, Records: c.Records, Receipts: c.Receipts,
		Secrets: c.Secrets, Places: c.Places, CheckAllow: c.CheckAllow, Hidden: c.Hidden,
		Now: c.Now, FenceNow: c.Fence, Clock: c.Clock, Reserve: c.Reserve, Measure: c.Measure, Log: c.Log,
	})
	n := network.New(k, c.Networks, c.Ports)
	l := limits.New(k, n, limits.Config{
		Policies: c.Policies, Series: c.Series, LogCap: c.LogCap, SampleEvery: c.SampleEvery, WatchEvery: c.WatchEvery,
	})
	ba, sh := bases.New(k, c.Bases), shelf.New(k)
	b := boxes.New(k, n, l, ba, sh, boxes.Config{RestAfter: c.RestAfter, StopGrace: c.StopGrace, Tick: c.Tick})
	x := execs.New(k, n, l, b)
	fi := files.New(k, x)
	s := snapshots.New(k, l, sh, b)
	ch := changes.New(k, ba, b, s)
	la := landing.New(k, ba, sh, b, s, ch, landing.Config{UndoAge: c.UndoAge, UndoSize: c.UndoSize})
	f := forks.New(k, n, l, ba, sh, b, s, ch)
	sv := services.New(k, n, sh, b, x, f, c.Services)
	g := gc.New(k, ba, sh, b, ch, la, f, sv, gc.Config{Retention: c.Retention, RetentionErr: c.RetentionErr})
	// Calls that go up: what is below asks what it does not know.
	k.Find = b.Find
	b.SetHooks(boxes.Hooks{DecideSync: la.DecideSyncIn, ForgetSync: la.ForgetSync, Observe: ch.Observe, BringUp: sv.BringUp, TakeDown: sv.TakeDown})
	return &Engine{k, n, l, ba, sh, b, x, fi, s, ch, la, f, sv, g}
}

// Close lets go of the boxes, which go on running without their network, and
// ends what callers are waiting for. It returns when that is over or ctx is.
func (e *Engine) Close(ctx context.Context) error {
	e.core.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.core.Work.Wait()
		e.networkManager.CloseAll()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		e.networkManager.CloseRecords()
		return forkbox.Errorf(forkbox.TimedOut, "close engine", "operations are still going on: %w", ctx.Err())
	}
}

// Busy says whether boxes run or operations go on: whether the daemon is of
// any use.
func (e *Engine) Busy() bool {
	w, ok := e.core.Provider.(shelf.Warmer)
	return e.core.InUse() || ok && w.Warmed()
}

// Waiting is how many requests wait for the host, of all users.
func (e *Engine) Waiting() int {
	waiting, _ := e.limitsManager.Line.Len()
	return waiting
}

// Short says whether the disk that the host keeps for itself is touched.
func (e *Engine) Short() (short bool, why string) {
	if e.core.Reserve == nil {
		return false, ""
	}
	return e.core.Reserve()
}

// Create makes a box, with copies of services where spec has any.
func (e *Engine) Create(ctx context.Context, who forkbox.Owner, spec CreateSpec) (forkbox.Box, error) {
	return e.CreateWith(ctx, who, spec)
}

// Box finds one of who's boxes by its name, its id, or the beginning of either
// where that fits one box only.
func (e *Engine) Box(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error) {
	box, err := e.core.Box(ctx, who, ref)
	if err != nil {
		return box, err
	}
	return e.Describe(ctx, box)
}

// Boxes lists who's boxes, oldest first.
func (e *Engine) Boxes(ctx context.Context, who forkbox.Owner) ([]forkbox.Box, error) {
	return e.core.Boxes(ctx, who)
}

// AllBoxes lists the boxes of all users, for root.
func (e *Engine) AllBoxes(ctx context.Context, who forkbox.Owner) ([]forkbox.Box, error) {
	return e.core.AllBoxes(ctx, who)
}

// Tell records an event that no verb of the engine is: of secrets, tokens, the
// store.
func (e *Engine) Tell(event forkbox.Event) { e.core.Tell(event) }

// WithMatch has the verb that is called with a context change a box only if it is as
// the caller saw it: with one of these tags.
func WithMatch(ctx context.Context, tags []string) context.Context { return core.WithMatch(ctx, tags) }

// EventSpec is which events a caller wants.
type EventSpec = core.EventSpec

// Latest is the After of a caller who wants the events from now on.
const Latest = core.Latest

// Events yields what happened to what who has, the oldest first.
func (e *Engine) Events(ctx context.Context, who forkbox.Owner, spec EventSpec, yield func(forkbox.Event) error) error {
	return e.core.Events(ctx, who, spec, yield)
}
