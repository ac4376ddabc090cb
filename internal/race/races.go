// Package race runs races: from one point a box is forked for each approach,
// all run at the same time, the same checks judge them, and one wins.
//
// A race has nothing of its own but its record. It uses the verbs of the engine
// as any client would, and what it needs to know after a crash is what the
// engine writes down anyway: a box says which race and approach it is for, and
// every exec carries a label such as "a1/step/0". A race that is resumed goes
// through its course again from the beginning. What has an exec with its label
// already is not run again: how it ended is read, or waited for.
package race

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
)

// Boxes is what races need of the engine.
type Boxes interface {
	Fence() time.Time
	Provider() string
	Passable(env, allow []string) []string
	Places(who forkbox.Owner, dir string, env, allow []string) []string
	Workspace(dir string) string
	Policy(ctx context.Context, who forkbox.Owner, wish forkbox.Wish) (forkbox.Policy, error)

	Create(ctx context.Context, who forkbox.Owner, spec engine.CreateSpec) (forkbox.Box, error)
	Box(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error)
	Stop(ctx context.Context, who forkbox.Owner, ref string, grace *time.Duration) (forkbox.Box, error)
	Retire(ctx context.Context, who forkbox.Owner, ref string, grace time.Duration) error
	Remove(ctx context.Context, who forkbox.Owner, ref string, force bool) error
	Supersede(ctx context.Context, who forkbox.Owner, boxes []string, receipt string) error

	Exec(ctx context.Context, who forkbox.Owner, ref string, req engine.ExecRequest, stdio forkbox.Stdio) (forkbox.Exec, error)
	Wait(ctx context.Context, who forkbox.Owner, ref, id string) (forkbox.Exec, error)
	Execs(ctx context.Context, who forkbox.Owner, ref string) ([]forkbox.Exec, error)
	Logs(ctx context.Context, who forkbox.Owner, ref, id string, follow bool, yield func(forkbox.LogRecord) error) error
	Occupied(ctx context.Context, who forkbox.Owner, ref string) (bool, error)
	Queue(ctx context.Context, who forkbox.Owner) ([]forkbox.Waiting, error)
	Consumed(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Stats, error)

	Snapshot(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.SnapshotSpec) (forkbox.Snapshot, error)
	Rollback(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.RollbackSpec) (forkbox.Rollback, error)
	RemoveSnapshot(ctx context.Context, who forkbox.Owner, ref string, squash bool) error

	DiffSince(ctx context.Context, who forkbox.Owner, ref, point string, spec forkbox.DiffSpec, yield func(forkbox.Change) error) (forkbox.Summary, error)
	PutBack(ctx context.Context, who forkbox.Owner, ref, point string, wanted func(forkbox.Change) bool) error
	Status(ctx context.Context, who forkbox.Owner, ref string) (forkbox.BoxStatus, error)
	Sync(ctx context.Context, who forkbox.Owner, ref string) (forkbox.SyncResult, error)
	StillIs(ctx context.Context, who forkbox.Owner, ref, snapshot string) (bool, error)
	Land(ctx context.Context, who forkbox.Owner, ref, snapshot string, spec forkbox.ApplySpec) (forkbox.Receipt, error)
}

var _ Boxes = (*engine.Engine)(nil)

// Config is what races are made of.
type Config struct {
	Boxes  Boxes
	Ledger forkbox.Ledger
	// Transcripts keeps what was printed when a box is gone.
	Transcripts Transcripts
	Log         *slog.Logger
	Now         func() time.Time
	// Since is when this daemon began; when the process did if zero.
	Since time.Time
}

var processBegan = time.Now()

// Races runs races. It is safe for concurrent use.
type Races struct {
	boxes  Boxes
	ledger forkbox.Ledger
	texts  Transcripts
	log    *slog.Logger
	now    func() time.Time
	since  time.Time

	// ctx ends with Close.
	ctx   context.Context
	close context.CancelCauseFunc
	work  sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	tasks    int              // what goes on in the background
	live     map[string]*race // those that run, by id
	landings map[string]*turn // of races that land or go, by id
	starting map[int]int      // how many are about to run, by owner
	ended    int              // since the daemon's start
}

// New makes races. Call [Races.Resume] before the first is started, and after
// the engine has found its boxes again.
func New(c Config) *Races {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Since.IsZero() {
		c.Since = processBegan
	}
	r := &Races{
		boxes: c.Boxes, ledger: c.Ledger, texts: c.Transcripts, log: c.Log, now: c.Now, since: c.Since,
		live: map[string]*race{}, starting: map[int]int{}, landings: map[string]*turn{},
	}
	r.ctx, r.close = context.WithCancelCause(context.Background())
	return r
}

// Why a context of a race ended.
var (
	errClosing   = errors.New("the daemon is stopping")
	errCancelled = errors.New("the race was cancelled")
	errNotNeeded = errors.New("another approach passed first")
	errDeadline  = errors.New("the race's deadline passed")
	// errLost is no context's: the box died, or the host did, under a command.
	errLost = errors.New("its box was lost")
)

// Busy says whether races run, or something of one is still to be done.
func (r *Races) Busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.live) > 0 || r.tasks > 0
}

// Close lets go of the races that run. Their boxes go on, and the next daemon
// goes on with them. It returns when nothing is done here any more or ctx ends.
func (r *Races) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.close(errClosing)
	done := make(chan struct{})
	go func() { r.work.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return forkbox.Errorf(forkbox.TimedOut, "close races", "something is still being done: %w", ctx.Err())
	}
}

// begin counts something that goes on, unless the daemon ends.
func (r *Races) begin(op string) (end func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, forkbox.Errorf(forkbox.Unavailable, op, "the daemon is stopping").
			Hint("try again: the next command starts a new one")
	}
	r.tasks++
	r.work.Add(1)
	return func() {
		r.mu.Lock()
		r.tasks--
		r.mu.Unlock()
		r.work.Done()
	}, nil
}

// inBackground does something that only Close waits for.
func (r *Races) inBackground(do func()) {
	end, err := r.begin("tidy up")
	if err != nil {
		return
	}
	go func() { defer end(); do() }()
}

// List has who's races, the newest first.
func (r *Races) List(ctx context.Context, who forkbox.Owner) ([]forkbox.Race, error) {
	list, err := r.ledger.Races(ctx, &who.UID)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i] = r.current(ctx, list[i])
	}
	return list, nil
}

// Get finds one by its id, its name or the beginning of either. An empty ref is
// the newest.
func (r *Races) Get(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Race, error) {
	race, err := r.find(ctx, who, ref)
	if err != nil {
		return race, err
	}
	return r.current(ctx, race), nil
}

// findNamed is find for what changes something: that must be meant by name.
func (r *Races) findNamed(ctx context.Context, who forkbox.Owner, op, ref string) (forkbox.Race, error) {
	if ref == "" {
		return forkbox.Race{}, forkbox.Errorf(forkbox.Invalid, op, "no race is named").
			Hint("forkbox race ls shows your races")
	}
	return r.find(ctx, who, ref)
}

// find looks among who's races only: those of others must look as if they did
// not exist.
func (r *Races) find(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Race, error) {
	const op = "find race"
	found, err := r.ledger.FindRaces(ctx, who.UID, ref)
	switch {
	case err != nil:
		return forkbox.Race{}, err
	case len(found) == 0 && ref == "":
		return forkbox.Race{}, forkbox.Errorf(forkbox.NotFound, op, "you have no races").
			Hint("start one: forkbox race --try 'a=…' --try 'b=…' --check '…'")
	case len(found) == 0:
		return forkbox.Race{}, forkbox.Errorf(forkbox.NotFound, op, "you have no race %q", ref).
			Hint("forkbox race ls shows your races")
	case len(found) == 1, ref == "", found[0].ID == ref, found[0].Name == ref: // exact matches come first
		return found[0], nil
	}
	return forkbox.Race{}, forkbox.Errorf(forkbox.Ambiguous, op, "%q could be %s", ref, candidates(found)).
		Hint("give more of the name, or the id")
}

func candidates(races []forkbox.Race) string {
	const most = 5
	var names []string
	for _, r := range races[:min(most, len(races))] {
		names = append(names, r.Name+" ("+r.ID+")")
	}
	if len(races) > most {
		names = append(names, "others")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// current is a race as it is now: one that runs is ahead of its record, and
// what landed may have been undone since.
func (r *Races) current(ctx context.Context, rec forkbox.Race) forkbox.Race {
	if live := r.running(rec.ID); live != nil {
		return live.record()
	}
	if rec.Receipt != "" {
		if receipt, err := r.ledger.Receipt(ctx, rec.Receipt); err == nil && !receipt.Undone.IsZero() {
			rec.Landed, rec.Receipt = "", ""
		}
	}
	return rec
}

// running is a race that runs, nil if it does not.
func (r *Races) running(id string) *race {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live[id]
}
