package access

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// Trail writes the audit trail. What was done is written soon after, many in one
// step, so that no request waits for it; [Trail.Flush] waits.
type Trail struct {
	ledger forkbox.AccessLedger
	keep   time.Duration
	log    *slog.Logger

	mu      sync.Mutex
	last    int64
	pending []forkbox.Call
	alike   map[likeness]*repeated
	timer   *time.Timer
	pruned  time.Time

	writing sync.Mutex // one step after another
}

// likeness is what two refusals have in common that become one entry: a flood of
// them must not fill the disk.
type likeness struct{ kind, via, from, name, target, outcome string }

// repeated is an entry that counts.
type repeated struct {
	call  forkbox.Call
	dirty bool
}

const (
	writeSoon   = time.Second
	mostPending = 4096 // beyond it a caller waits for the ledger
	alikeFor    = time.Minute
	mostAlike   = 1024
	pruneEvery  = time.Hour
	// MostCalls is how many entries are kept of each user.
	MostCalls = 200_000
	// KeepCalls is how long entries are kept, unless the configuration says
	// otherwise.
	KeepCalls = 90 * 24 * time.Hour
	mostText  = 300
)

// OpenTrail goes on where the ledger's trail ends.
func OpenTrail(ctx context.Context, ledger forkbox.AccessLedger, keep time.Duration, log *slog.Logger) (*Trail, error) {
	last, err := ledger.LastCall(ctx)
	if err != nil {
		return nil, err
	}
	if keep <= 0 {
		keep = KeepCalls
	}
	return &Trail{ledger: ledger, keep: keep, log: log, last: last, alike: map[likeness]*repeated{}}, nil
}

// Record adds an entry, or with an id says what became of one. It returns the
// entry's id.
func (t *Trail) Record(c forkbox.Call) int64 {
	c.Target, c.Why = short(c.Target), short(c.Why)
	t.mu.Lock()
	id := t.add(c)
	full := len(t.pending) >= mostPending
	if t.timer == nil && !full {
		t.timer = time.AfterFunc(writeSoon, func() { t.flush(context.Background()) })
	}
	t.mu.Unlock()
	if full {
		t.flush(context.Background())
	}
	return id
}

// add is called with the lock held.
func (t *Trail) add(c forkbox.Call) int64 {
	if c.ID == 0 {
		c = t.bundle(c)
		if once := t.seen(c); once != 0 {
			return once
		}
		t.last++
		c.ID = t.last
		t.remember(c)
	}
	t.pending = append(t.pending, c)
	return c.ID
}

func likenessOf(c forkbox.Call) likeness {
	return likeness{c.Kind, c.Via, c.From, c.Name, c.Target, c.Outcome}
}

// seen counts what was refused like this not long ago; 0 if nothing was.
func (t *Trail) seen(c forkbox.Call) int64 {
	if done(c) {
		return 0
	}
	r, ok := t.alike[likenessOf(c)]
	if !ok || c.Time.Sub(r.call.Time) >= alikeFor {
		return 0
	}
	r.call.Times = max(1, r.call.Times) + 1
	r.dirty = true
	return r.call.ID
}

// bundle makes what is refused too differently to be counted each for itself one
// and the same.
func (t *Trail) bundle(c forkbox.Call) forkbox.Call {
	if done(c) || t.alike[likenessOf(c)] != nil || len(t.alike) < mostAlike {
		return c
	}
	for like, r := range t.alike {
		if c.Time.Sub(r.call.Time) >= alikeFor && !r.dirty {
			delete(t.alike, like)
		}
	}
	if len(t.alike) >= mostAlike {
		c.Kind, c.Via, c.Label, c.From, c.Name, c.Target, c.UID, c.User = string(Nobody), "", "", "many", "many", "", -1, ""
		c.Why = "many different requests were refused"
	}
	return c
}

func done(c forkbox.Call) bool {
	return c.Outcome == forkbox.OutcomeOK || c.Outcome == forkbox.OutcomeBegun
}

// remember has the next that is alike counted.
func (t *Trail) remember(c forkbox.Call) {
	if done(c) {
		return
	}
	if old := t.alike[likenessOf(c)]; old != nil && old.dirty {
		t.pending = append(t.pending, old.call)
	}
	t.alike[likenessOf(c)] = &repeated{call: c}
}

// Flush returns when all that was recorded is written.
func (t *Trail) Flush(ctx context.Context) error { return t.flush(ctx) }

func (t *Trail) flush(ctx context.Context) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	calls, prune := t.take()
	err := t.ledger.SaveCalls(ctx, calls)
	if err == nil && prune {
		_, err = t.ledger.PruneCalls(ctx, time.Now().Add(-t.keep), MostCalls)
	}
	if err != nil {
		t.log.Error("cannot write the audit trail", "entries", len(calls), "error", err)
	}
	return err
}

// take is what is to be written. What cannot be written is in the daemon's log
// that it could not.
func (t *Trail) take() (calls []forkbox.Call, prune bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	calls, t.pending = t.pending, nil
	for _, r := range t.alike {
		if r.dirty {
			calls = append(calls, r.call)
			r.dirty = false
		}
	}
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	if prune = time.Since(t.pruned) >= pruneEvery; prune {
		t.pruned = time.Now()
	}
	return calls, prune
}

// Close writes what is left.
func (t *Trail) Close(ctx context.Context) error { return t.flush(ctx) }

// Read selects entries. Users see what was done for them, root sees all.
func (t *Trail) Read(ctx context.Context, by *Principal, filter forkbox.CallFilter) ([]forkbox.Call, error) {
	if by.Owner.UID != 0 {
		filter.UID = &by.Owner.UID
	}
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	return t.ledger.Calls(ctx, filter)
}

func short(text string) string {
	if len(text) > mostText {
		return text[:mostText] + "…"
	}
	return text
}
