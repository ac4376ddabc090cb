package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/forkbox/forkbox"
)

var errCrashed = errors.New("the daemon is dead")

// fuse ends a daemon at its nth step: from then on nothing it does has any
// effect, undo included, which is what being killed is like. after says
// whether the last step still had its effect.
type fuse struct {
	mu    sync.Mutex
	steps int
	at    int // 0: never
	after bool
	blown bool
}

func (f *fuse) step(do func() error) error {
	f.mu.Lock()
	f.steps++
	last := f.steps == f.at
	dead := f.blown || last && !f.after
	f.blown = f.blown || last
	f.mu.Unlock()
	if dead {
		return errCrashed
	}
	err := do()
	if last {
		return errCrashed
	}
	return err
}

func (f *fuse) isBlown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blown
}

// fusedLedger counts writes as steps.
type fusedLedger struct {
	forkbox.Ledger
	fuse *fuse
}

func (l fusedLedger) AddBox(ctx context.Context, b forkbox.Box, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.AddBox(ctx, b, tell...) })
}

func (l fusedLedger) UpdateBox(ctx context.Context, b forkbox.Box, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.UpdateBox(ctx, b, tell...) })
}

func (l fusedLedger) DeleteBox(ctx context.Context, id string, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.DeleteBox(ctx, id, tell...) })
}

func (l fusedLedger) AddExec(ctx context.Context, x forkbox.Exec, tell ...forkbox.Event) (out forkbox.Exec, err error) {
	err = l.fuse.step(func() (err error) { out, err = l.Ledger.AddExec(ctx, x, tell...); return err })
	return out, err
}

// SaveConns is no step: it is done in the background, when it suits. But a dead
// daemon does not write.
func (l fusedLedger) SaveConns(ctx context.Context, conns []forkbox.Conn) error {
	if l.fuse.isBlown() {
		return errCrashed
	}
	return l.Ledger.SaveConns(ctx, conns)
}

func (l fusedLedger) UpdateExec(ctx context.Context, x forkbox.Exec, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.UpdateExec(ctx, x, tell...) })
}
