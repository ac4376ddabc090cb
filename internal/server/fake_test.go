package server

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
)

// fakeEngine is an engine of one exec at a time: it copies stdin to stdout
// until stdin ends, or until it is killed or let go.
type fakeEngine struct {
	mu      sync.Mutex
	created []engine.CreateSpec
	who     []forkbox.Owner
	execs   []engine.ExecRequest
	signals []int
	sizes   []forkbox.Size
	killed  chan struct{}
	exited  chan struct{}
	busy    bool
	diffed  forkbox.DiffSpec
	applied []forkbox.ApplySpec
	undone  []engine.UndoSpec
	changes []forkbox.Change
	logs    []forkbox.LogRecord
	failAt  error // what changes and logs end with
	onBoxes func()
	fakeLayers
	fakeLimits
	fakeNet
	Files // none: the real binary is tested
}

func newFake() *fakeEngine {
	return &fakeEngine{killed: make(chan struct{}), exited: make(chan struct{})}
}

func (f *fakeEngine) Create(ctx context.Context, who forkbox.Owner, spec engine.CreateSpec) (forkbox.Box, error) {
	if err := f.wait(ctx, spec.Wish.Ticket); err != nil {
		return forkbox.Box{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.created, f.who = append(f.created, spec), append(f.who, who)
	if f.onCreated != nil {
		f.onCreated()
	}
	return forkbox.Box{ID: "b1", Name: spec.Name, State: forkbox.Stopped, Owner: who}, nil
}

func (f *fakeEngine) Boxes(context.Context, forkbox.Owner) ([]forkbox.Box, error) {
	if f.onBoxes != nil {
		f.onBoxes()
	}
	return nil, nil
}

func (f *fakeEngine) Box(_ context.Context, _ forkbox.Owner, ref string) (forkbox.Box, error) {
	if ref != "b1" {
		return forkbox.Box{}, forkbox.Errorf(forkbox.NotFound, "find box "+ref, "there is none").Hint("see: forkbox ls")
	}
	return forkbox.Box{ID: "b1", State: forkbox.Stopped}, nil
}

func (f *fakeEngine) Start(_ context.Context, _ forkbox.Owner, ref string) (forkbox.Box, error) {
	return forkbox.Box{ID: ref, State: forkbox.Running}, nil
}

func (f *fakeEngine) Stop(_ context.Context, _ forkbox.Owner, ref string, grace *time.Duration) (forkbox.Box, error) {
	return forkbox.Box{ID: ref, State: forkbox.Stopped, Note: fmt.Sprint(grace != nil)}, nil
}

func (f *fakeEngine) ListServices(context.Context, forkbox.Owner) ([]forkbox.Service, []string, error) {
	return nil, nil, nil
}

func (f *fakeEngine) Refresh(context.Context, forkbox.Owner, engine.CreateSpec) ([]forkbox.Still, error) {
	return nil, nil
}

func (f *fakeEngine) ControlService(context.Context, forkbox.Owner, string, string, string) (forkbox.Box, error) {
	return forkbox.Box{}, nil
}

func (f *fakeEngine) Remove(_ context.Context, _ forkbox.Owner, _ string, force bool) error {
	if !force {
		return forkbox.Errorf(forkbox.Busy, "remove box", "it runs").Hint("use -f")
	}
	return nil
}

func (f *fakeEngine) Exec(ctx context.Context, _ forkbox.Owner, _ string, req engine.ExecRequest, stdio forkbox.Stdio) (forkbox.Exec, error) {
	if err := f.wait(ctx, req.Wish.Ticket); err != nil {
		stdio.Close()
		return forkbox.Exec{}, err
	}
	if req.Argv[0] == "missing" {
		stdio.Close()
		return forkbox.Exec{}, forkbox.Errorf(forkbox.CommandNotFound, "run missing", "there is no such command")
	}
	f.mu.Lock()
	f.execs = append(f.execs, req)
	f.mu.Unlock()
	go func() {
		defer close(f.exited)
		defer stdio.Close()
		if stdio.In != nil && stdio.Out != nil {
			io.Copy(stdio.Out, stdio.In)
		}
		if stdio.In == nil {
			<-f.killed
		}
	}()
	return forkbox.Exec{ID: "1", Box: "b1", Argv: req.Argv}, nil
}

func (f *fakeEngine) Wait(ctx context.Context, _ forkbox.Owner, _, id string) (forkbox.Exec, error) {
	select {
	case <-f.exited:
		return forkbox.Exec{ID: id, Box: "b1", Exit: &forkbox.Exit{Code: 7, Cause: forkbox.CauseExited}}, nil
	case <-ctx.Done():
		return forkbox.Exec{}, ctx.Err()
	}
}

func (f *fakeEngine) GetExec(_ context.Context, _ forkbox.Owner, _, id string) (forkbox.Exec, error) {
	if id == "ended" {
		return forkbox.Exec{ID: id, Box: "b1", Exit: &forkbox.Exit{Cause: forkbox.CauseExited}}, nil
	}
	return forkbox.Exec{ID: id, Box: "b1"}, nil
}

func (f *fakeEngine) Execs(context.Context, forkbox.Owner, string) ([]forkbox.Exec, error) {
	return nil, nil
}

func (f *fakeEngine) Signal(_ context.Context, _ forkbox.Owner, _, _ string, signal int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signals = append(f.signals, signal)
	return nil
}

func (f *fakeEngine) Stream(_ context.Context, _ forkbox.Owner, _, _ string, _ forkbox.StreamJoin, link *os.File) (forkbox.StreamAt, error) {
	link.Close()
	return forkbox.StreamAt{}, forkbox.Errorf(forkbox.Unsupported, "attach", "this is no box")
}

func (f *fakeEngine) Abandon(context.Context, forkbox.Owner, string, string) error {
	close(f.killed)
	return nil
}

func (f *fakeEngine) Kill(context.Context, forkbox.Owner, string, string, time.Duration) error {
	return nil
}

func (f *fakeEngine) Resize(_ context.Context, _ forkbox.Owner, _, _ string, size forkbox.Size) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sizes = append(f.sizes, size)
	return nil
}

func (f *fakeEngine) Logs(ctx context.Context, _ forkbox.Owner, _, _ string, follow bool, yield func(forkbox.LogRecord) error) error {
	for _, record := range f.logs {
		if err := yield(record); err != nil {
			return err
		}
	}
	if follow {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.failAt
}

func (f *fakeEngine) Processes(context.Context, forkbox.Owner, string) ([]forkbox.Process, error) {
	return []forkbox.Process{{PID: 1, Command: []string{"sh"}}}, nil
}

func (f *fakeEngine) Diff(_ context.Context, _ forkbox.Owner, _ string, spec forkbox.DiffSpec, yield func(forkbox.Change) error) (summary forkbox.Summary, err error) {
	f.diffed = spec
	for _, change := range f.changes {
		summary.Add(change)
		if err := yield(change); err != nil {
			return summary, err
		}
	}
	return summary, f.failAt
}

func (f *fakeEngine) Status(context.Context, forkbox.Owner, string) (forkbox.BoxStatus, error) {
	return forkbox.BoxStatus{Root: "/src", Drift: []forkbox.Drift{{Path: "/src/a", Both: true}}}, nil
}

func (f *fakeEngine) Apply(_ context.Context, _ forkbox.Owner, _ string, spec forkbox.ApplySpec) (forkbox.Receipt, error) {
	f.applied = append(f.applied, spec)
	if spec.Reviewed == "stale" {
		return forkbox.Receipt{}, forkbox.Errorf(forkbox.Conflict, "apply", "the box changed").About("/src/a", "it differs")
	}
	return forkbox.Receipt{ID: "r1", State: forkbox.Applied}, nil
}

func (f *fakeEngine) Discard(_ context.Context, _ forkbox.Owner, _ string, sel forkbox.Selection) ([]string, error) {
	return sel.Paths, nil
}

func (f *fakeEngine) Sync(context.Context, forkbox.Owner, string) (forkbox.SyncResult, error) {
	return forkbox.SyncResult{Merged: []string{"/src/a"}}, nil
}

func (f *fakeEngine) Receipts(context.Context, forkbox.Owner) ([]forkbox.Receipt, error) {
	return []forkbox.Receipt{{ID: "r1"}}, nil
}

func (f *fakeEngine) Receipt(_ context.Context, _ forkbox.Owner, ref string) (forkbox.Receipt, error) {
	return forkbox.Receipt{ID: ref}, nil
}

func (f *fakeEngine) Undo(_ context.Context, _ forkbox.Owner, ref string, spec engine.UndoSpec) (forkbox.Receipt, error) {
	f.undone = append(f.undone, spec)
	return forkbox.Receipt{ID: ref, State: forkbox.Undone}, nil
}

func (f *fakeEngine) Doctor(context.Context) []forkbox.Check {
	return []forkbox.Check{{Name: "overlay", Status: forkbox.OK}}
}

func (f *fakeEngine) Busy() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.busy
}

func (f *fakeEngine) Deviations() []forkbox.Deviation { return nil }

func (f *fakeEngine) CheckMounts(context.Context, forkbox.Owner) []forkbox.Check { return nil }

func (f *fakeEngine) Strays(context.Context, forkbox.Owner, string) ([]forkbox.Stray, error) {
	return []forkbox.Stray{}, nil
}

func (f *fakeEngine) MendStray(_ context.Context, _ forkbox.Owner, dir string, fate forkbox.StrayFate) (forkbox.StrayMended, error) {
	return forkbox.StrayMended{Stray: forkbox.Stray{Dir: dir}, Fate: fate}, nil
}

func (f *fakeEngine) HiddenFrom(forkbox.Owner) []string { return nil }
