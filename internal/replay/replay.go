// Package replay has a request that is repeated answered as it was the first time,
// instead of being done again: its caller gives it a key, and the ledger keeps,
// under that, what was asked and what was answered.
//
// A request is recorded before it is done, and its answer before it is given. What
// a daemon did not live to answer is neither done again nor said to be done: it is
// a [Turn] that is Lost, and its caller is told what to look for.
package replay

import (
	"context"
	"crypto/hmac"
	"log/slog"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// What is kept, of each user.
const (
	keepFor    = 24 * time.Hour
	most       = 10_000
	mostBytes  = 32 << 20
	pruneEvery = 100 // requests

	// LargestAnswer is how long one may be to be kept.
	LargestAnswer = 1 << 20
)

// Keeper keeps answers. It is safe for concurrent use.
type Keeper struct {
	ledger forkbox.AccessLedger
	log    *slog.Logger

	mu      sync.Mutex
	running map[string]chan struct{} // by id; closed when it is over
	begun   int
}

// NewKeeper makes one that keeps answers in a ledger.
func NewKeeper(ledger forkbox.AccessLedger, log *slog.Logger) *Keeper {
	return &Keeper{ledger: ledger, log: log, running: map[string]chan struct{}{}}
}

// Turn is one request with a key. Of all that have the same key, one at a time has
// it. It ends with Leave.
type Turn struct {
	keeper *Keeper
	key    Key
	rec    forkbox.Keyed
	again  bool
	leave  func()
}

// Begin waits for others with the same key, and records the request unless one is
// recorded. print is of what is asked, nil where that is not known yet.
func (k *Keeper) Begin(ctx context.Context, key Key, request string, print []byte) (*Turn, error) {
	t := &Turn{keeper: k, key: key, rec: forkbox.Keyed{ID: key.id(), UID: key.uid, Began: time.Now().UTC(), Request: request, Print: print}}
	var err error
	if t.leave, err = k.enter(ctx, t.rec.ID); err != nil {
		return nil, err
	}
	if err := k.prune(ctx); err != nil {
		t.leave()
		return nil, err
	}
	was, err := k.ledger.BeginKeyed(ctx, t.rec)
	if err != nil {
		t.leave()
		return nil, err
	}
	if was != nil {
		t.rec, t.again = *was, true
	}
	return t, nil
}

// enter returns when no other request with that id is under way.
func (k *Keeper) enter(ctx context.Context, id string) (leave func(), err error) {
	for {
		k.mu.Lock()
		other := k.running[id]
		if other == nil {
			over := make(chan struct{})
			k.running[id] = over
			k.mu.Unlock()
			return sync.OnceFunc(func() { k.over(id, over) }), nil
		}
		k.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (k *Keeper) over(id string, over chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.running, id)
	close(over)
}

// prune forgets now and then what is old, or too much.
func (k *Keeper) prune(ctx context.Context) error {
	k.mu.Lock()
	due := k.begun%pruneEvery == 0
	k.begun++
	k.mu.Unlock()
	if !due {
		return nil
	}
	return k.ledger.PruneKeyed(ctx, time.Now().Add(-keepFor), most, mostBytes)
}

// Leave lets the next one have the key. It can be repeated.
func (t *Turn) Leave() { t.leave() }

// Again says that it is a repeat: nothing is to be done.
func (t *Turn) Again() bool { return t.again }

// Lost says of a repeat that it is not known what became of the first.
func (t *Turn) Lost() bool { return t.rec.Status == 0 }

// First is the id of the request that was the first, and After the latest event
// before it.
func (t *Turn) First() (request string, after int64) { return t.rec.Request, t.rec.After }

// Matches says whether what is asked now is what was asked first. Of a lost one
// it may not be known.
func (t *Turn) Matches(print []byte) bool {
	return t.rec.Print == nil || hmac.Equal(t.rec.Print, print)
}

// Answer is what the first was answered; nil where it was too long to be kept.
func (t *Turn) Answer() (status int, answer []byte, err error) {
	if t.rec.Answer == nil {
		return t.rec.Status, nil, nil
	}
	answer, err = t.key.open(t.rec.Answer)
	return t.rec.Status, answer, forkbox.Wrap("read an answer", err)
}

// Keep records what the request is about to be answered, with the print of what was
// asked. Where that fails the request is done all the same; a repeat is told that
// it is not known.
func (t *Turn) Keep(ctx context.Context, print []byte, status int, answer []byte) {
	t.rec.Print, t.rec.Status = print, status
	if len(answer) <= LargestAnswer {
		t.rec.Answer = t.key.seal(answer)
	}
	t.note(t.keeper.ledger.EndKeyed(ctx, t.rec))
}

// Free has a repeat be done: this one did nothing.
func (t *Turn) Free(ctx context.Context) { t.note(t.keeper.ledger.ForgetKeyed(ctx, t.rec.ID)) }

func (t *Turn) note(err error) {
	if err != nil {
		t.keeper.log.Error("cannot record what a request came to", "request", t.rec.Request, "error", err)
	}
}
