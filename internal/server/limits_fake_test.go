package server

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/engine"
)

// fakeLimits is the part of the fake engine that limits are.
type fakeLimits struct {
	queue    sync.Mutex
	inLine   []forkbox.Waiting // who waits
	full     bool              // whatever is started waits until its context ends
	refused  error             // what Set ends with
	events   []forkbox.Event
	wished   []forkbox.Wish
	joined   []string // execs that a client attached to
	extended time.Duration

	onCreated func()
	store     api.Store
}

// wait is the queue of a host that is full: nothing ever gets its place.
func (f *fakeLimits) wait(ctx context.Context, ticket string) error {
	f.queue.Lock()
	full := f.full
	if full {
		f.inLine = append(f.inLine, forkbox.Waiting{Ticket: ticket, Place: len(f.inLine) + 1, Why: "the host is full"})
	}
	f.queue.Unlock()
	if !full {
		return nil
	}
	<-ctx.Done()
	f.queue.Lock()
	defer f.queue.Unlock()
	f.inLine = slices.DeleteFunc(f.inLine, func(w forkbox.Waiting) bool { return w.Ticket == ticket })
	return ctx.Err()
}

func (f *fakeLimits) Queue(context.Context, forkbox.Owner) ([]forkbox.Waiting, error) {
	f.queue.Lock()
	defer f.queue.Unlock()
	return slices.Clone(f.inLine), nil
}

func (f *fakeLimits) Set(_ context.Context, _ forkbox.Owner, ref string, wish forkbox.Wish) (forkbox.Box, error) {
	f.wished = append(f.wished, wish)
	return forkbox.Box{ID: ref, Env: []string{"A=1"}, Priority: wish.Priority}, f.refused
}

func (f *fakeLimits) Extend(_ context.Context, _ forkbox.Owner, ref string, by time.Duration) (forkbox.Box, error) {
	f.extended = by
	return forkbox.Box{ID: ref}, nil
}

func (f *fakeLimits) Pause(_ context.Context, _ forkbox.Owner, ref string) (forkbox.Box, error) {
	return forkbox.Box{ID: ref, Paused: "by its owner"}, nil
}

func (f *fakeLimits) Resume(_ context.Context, _ forkbox.Owner, ref string) (forkbox.Box, error) {
	return forkbox.Box{ID: ref}, nil
}

func (f *fakeLimits) Policy(_ context.Context, _ forkbox.Owner, wish forkbox.Wish) (forkbox.Policy, error) {
	policy := forkbox.Policy{}
	for r, v := range wish.Limits {
		policy[r] = forkbox.Rule{Value: v, From: "box", How: forkbox.Enforced}
	}
	return policy, nil
}

func (f *fakeLimits) Holds(context.Context) map[forkbox.Resource]forkbox.Holding {
	return map[forkbox.Resource]forkbox.Holding{forkbox.Disk: {How: forkbox.Watched, Why: "no quotas"}}
}

func (f *fakeLimits) Stats(_ context.Context, _ forkbox.Owner, ref string, series bool) (forkbox.BoxStats, error) {
	stats := forkbox.BoxStats{Box: ref, Now: forkbox.Stats{Memory: 7}}
	if series {
		stats.Series = []forkbox.Stats{{Memory: 1}, {Memory: 2}}
	}
	return stats, nil
}

func (f *fakeLimits) AllStats(context.Context, forkbox.Owner) ([]forkbox.BoxStats, error) {
	return nil, nil
}

func (f *fakeLimits) Events(ctx context.Context, _ forkbox.Owner, spec engine.EventSpec, yield func(forkbox.Event) error) error {
	if spec.Box == "nosuch" {
		return forkbox.Errorf(forkbox.NotFound, "find box "+spec.Box, "there is none")
	}
	if spec.Follow {
		if err := spec.OnBegin(); err != nil {
			return err
		}
	}
	for _, e := range f.events {
		if e.ID <= spec.After || spec.Box != "" && e.Box != spec.Box || !spec.Kinds.Wants(e.Kind) {
			continue
		}
		if err := yield(e); err != nil {
			return err
		}
	}
	if spec.Follow {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// Attach says hello and repeats what it hears.
func (f *fakeLimits) Suspend(context.Context, forkbox.Owner, string, string) (bool, error) {
	return true, nil
}

func (f *fakeLimits) Attach(_ context.Context, _ forkbox.Owner, _, execID string, stdio forkbox.Stdio) error {
	f.queue.Lock()
	f.joined = append(f.joined, execID)
	f.queue.Unlock()
	go func() {
		defer stdio.Close()
		io.WriteString(stdio.Out, "hello ")
		if stdio.In != nil {
			io.Copy(stdio.Out, stdio.In)
		}
	}()
	return nil
}

func (f *fakeLimits) StoreStatus(context.Context) (api.Store, error) { return f.store, nil }

func (f *fakeLimits) StoreInit(_ context.Context, size int64) (api.Store, error) {
	f.store.Pool = &api.Pool{Size: size}
	return f.store, nil
}

func (f *fakeLimits) StoreGrow(ctx context.Context, size int64) (api.Store, error) {
	return f.StoreInit(ctx, size)
}

func (f *fakeLimits) Repair(context.Context) (forkbox.Repair, error) {
	return forkbox.Repair{}, nil
}

func (f *fakeLimits) StoreRemove(context.Context) error {
	f.store.Pool = nil
	return nil
}
