// Package operations knows the long work that is under way: how far it is, who may
// follow it, and how it is cancelled. Work that goes on without its caller is in the
// ledger as well, until an hour after its end.
package operations

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forkbox/forkbox"
)

const (
	keepFor = time.Hour
	most    = 1000 // of each user, in the ledger
	// mostRunning is how many operations of one user may go on without their caller.
	mostRunning = 64
)

// ErrCancelled is the cause of the end of an operation's context that was cancelled,
// and ErrStopping of one whose daemon ends.
var (
	ErrCancelled = errors.New("it was cancelled")
	ErrStopping  = errors.New("the daemon is stopping")
)

// Keeper knows operations. It is safe for concurrent use.
type Keeper struct {
	ledger forkbox.AccessLedger
	log    *slog.Logger
	// Events lists events of a user, for what is found of an interrupted one.
	Events func(ctx context.Context, uid int, after int64, yield func(forkbox.Event)) error

	prefix string // of the ids of this daemon's operations
	last   atomic.Uint64

	mu       sync.Mutex
	running  map[string]*Running
	stopping bool
	async    sync.WaitGroup
}

// NewKeeper makes one that keeps operations in a ledger.
func NewKeeper(ledger forkbox.AccessLedger, log *slog.Logger) *Keeper {
	return &Keeper{ledger: ledger, log: log, prefix: strings.ToLower(rand.Text()[:8]) + "-", running: map[string]*Running{}}
}

// Running is an operation that is under way. It is over with End.
type Running struct {
	keeper *Keeper
	cancel context.CancelCauseFunc
	over   chan struct{}

	mu      sync.Mutex
	op      forkbox.Operation
	changed chan struct{} // closed at the next change
}

// Begin notes an operation, whose work is to be done with the context that it returns.
func (k *Keeper) Begin(ctx context.Context, op forkbox.Operation) (context.Context, *Running, error) {
	op.ID = k.prefix + strconv.FormatUint(k.last.Add(1), 36)
	op.State, op.Began = forkbox.OperationRunning, time.Now().UTC()
	r := &Running{keeper: k, op: op, over: make(chan struct{}), changed: make(chan struct{})}
	ctx, r.cancel = context.WithCancelCause(forkbox.WithProgress(ctx, r.report))
	if err := k.enter(r); err != nil {
		r.cancel(nil)
		return nil, nil, err
	}
	if op.Async {
		err := k.ledger.PruneOperations(ctx, time.Now().Add(-keepFor), most)
		if err == nil {
			err = k.ledger.SaveOperation(ctx, op)
		}
		if err != nil {
			k.leave(r)
			r.cancel(nil)
			return nil, nil, err
		}
	}
	return ctx, r, nil
}

func (k *Keeper) enter(r *Running) error {
	const op = "begin an operation"
	k.mu.Lock()
	defer k.mu.Unlock()
	if !r.op.Async {
		k.running[r.op.ID] = r
		return nil
	}
	others := 0
	for _, other := range k.running {
		if other.op.Async && other.op.UID == r.op.UID {
			others++
		}
	}
	switch {
	case k.stopping:
		return forkbox.Errorf(forkbox.Unavailable, op, "the daemon is stopping").Hint("try again")
	case others >= mostRunning:
		return forkbox.Errorf(forkbox.Busy, op, "%d are under way, and that is the most", others).Hint("wait for some, or cancel them: GET /v1/operations")
	}
	k.running[r.op.ID] = r
	k.async.Add(1)
	return nil
}

func (k *Keeper) leave(r *Running) {
	k.mu.Lock()
	delete(k.running, r.op.ID)
	k.mu.Unlock()
	if r.op.Async {
		k.async.Done()
	}
}

// Stop cancels what goes on without its caller, and returns when it has ended.
func (k *Keeper) Stop() {
	k.mu.Lock()
	k.stopping = true
	for _, r := range k.running {
		if r.op.Async {
			r.cancel(ErrStopping)
		}
	}
	k.mu.Unlock()
	k.async.Wait()
}

func (r *Running) report(p forkbox.Progress) {
	r.change(func(op *forkbox.Operation) { op.Progress = p })
}

func (r *Running) change(do func(*forkbox.Operation)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(&r.op)
	close(r.changed)
	r.changed = make(chan struct{})
}

// now is the operation as it stands, and what is closed when it stands otherwise.
func (r *Running) now() (forkbox.Operation, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.op, r.changed
}

// Operation is the operation as it stands.
func (r *Running) Operation() forkbox.Operation {
	op, _ := r.now()
	return op
}

// End says what the work came to. ctx is that of the work.
func (r *Running) End(ctx context.Context, result any, err *forkbox.Error) {
	cause := context.Cause(ctx)
	ended := time.Now().UTC()
	r.change(func(op *forkbox.Operation) {
		op.Ended, op.Result, op.Error = &ended, result, err
		switch {
		case err == nil:
			op.State = forkbox.OperationDone
		case errors.Is(cause, ErrCancelled):
			op.State = forkbox.OperationCancelled
		case errors.Is(cause, ErrStopping):
			op.State = forkbox.OperationInterrupted
		default:
			op.State = forkbox.OperationFailed
		}
	})
	if op := r.Operation(); op.Async {
		if err := r.keeper.ledger.SaveOperation(context.WithoutCancel(ctx), op); err != nil {
			r.keeper.log.Error("cannot record what an operation came to", "operation", op.ID, "error", err)
		}
	}
	close(r.over)
	r.cancel(nil)
	r.keeper.leave(r)
}

// List is what a user has under way, and what of it ended not long ago, the oldest
// first.
func (k *Keeper) List(ctx context.Context, uid int) ([]forkbox.Operation, error) {
	running := k.of(uid) // before the ledger is read: what has left is recorded there
	kept, err := k.ledger.Operations(ctx, uid)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(kept, func(op forkbox.Operation) bool {
		_, runs := running[op.ID]
		return runs || op.Ended != nil && time.Since(*op.Ended) > keepFor
	})
	for i := range list {
		if list[i].State == forkbox.OperationRunning && !strings.HasPrefix(list[i].ID, k.prefix) {
			if list[i], err = k.settle(ctx, list[i]); err != nil {
				return nil, err
			}
		}
	}
	for _, r := range running {
		list = append(list, r.Operation())
	}
	slices.SortStableFunc(list, func(a, b forkbox.Operation) int { return a.Began.Compare(b.Began) })
	return list, nil
}

func (k *Keeper) of(uid int) map[string]*Running {
	k.mu.Lock()
	defer k.mu.Unlock()
	mine := map[string]*Running{}
	for id, r := range k.running {
		if r.op.UID == uid {
			mine[id] = r
		}
	}
	return mine
}

// settle records that an operation was interrupted: the ledger says that it runs, and
// the daemon that did it is gone. What it did, and what the start of this daemon made of that, is
// in the events of its request and of the receipts of its target.
func (k *Keeper) settle(ctx context.Context, op forkbox.Operation) (forkbox.Operation, error) {
	err := k.Events(ctx, op.UID, op.After, func(e forkbox.Event) {
		about := op.Target != "" && (op.Target == e.Box || op.Target == e.Name || op.Target == e.Receipt)
		if e.Request == op.Request || about && strings.HasPrefix(string(e.Kind), "receipt.") {
			op.Found = append(op.Found, e)
		}
	})
	if err != nil {
		return op, err
	}
	now := time.Now().UTC()
	op.State, op.Ended = forkbox.OperationInterrupted, &now
	op.Error = forkbox.Errorf(forkbox.Unavailable, op.Kind, "the daemon ended under it").Hint("what is known of it is in found; begin it anew if it is still wanted")
	return op, k.ledger.SaveOperation(ctx, op)
}

// Get finds one of a user's operations by its id.
func (k *Keeper) Get(ctx context.Context, uid int, id string) (forkbox.Operation, *Running, error) {
	if r := k.of(uid)[id]; r != nil {
		return r.Operation(), r, nil
	}
	list, err := k.List(ctx, uid)
	if err != nil {
		return forkbox.Operation{}, nil, err
	}
	for _, op := range list {
		if op.ID == id {
			return op, nil, nil
		}
	}
	return forkbox.Operation{}, nil, forkbox.Errorf(forkbox.NotFound, "find operation "+id, "there is none").
		Hint("one that ended is kept for an hour, if it was asked for with Prefer: respond-async")
}

// pace is how often a follower hears of progress, at most.
const pace = 100 * time.Millisecond

// Follow yields an operation whenever it stands otherwise, the last time when it is
// over.
func (k *Keeper) Follow(ctx context.Context, uid int, id string, yield func(forkbox.Operation) error) error {
	op, r, err := k.Get(ctx, uid, id)
	if err != nil {
		return err
	}
	for r != nil {
		var changed <-chan struct{}
		if op, changed = r.now(); op.Ended != nil {
			break
		}
		if err := yield(op); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-time.After(pace):
		case <-r.over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return yield(op)
}

// Cancel has an operation end, and what it began be put back, and returns when it is
// over. One that is past that point is done all the same.
func (k *Keeper) Cancel(ctx context.Context, uid int, id string) (forkbox.Operation, error) {
	op, r, err := k.Get(ctx, uid, id)
	if err != nil || r == nil {
		return op, err
	}
	r.cancel(ErrCancelled)
	select {
	case <-r.over:
	case <-ctx.Done():
		return op, ctx.Err()
	}
	return r.Operation(), nil
}
