package race

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
)

// script is what a command does: it is given the files of its box, which it may
// change, and how often it was run there before.
type script func(files map[string]string, n int) (code int, output string)

// host has boxes, which go on whatever becomes of a daemon.
type host struct {
	ledger  forkbox.Ledger
	scripts map[string]script

	mu       sync.Mutex
	boxes    map[string]*fakeBox
	made     int
	faults   []string // promises that were broken
	reality  map[string]string
	drift    []forkbox.Drift
	moved    int                    // how often reality changes right before something lands
	choice   forkbox.ConflictChoice // what the last landing said to do about conflicts
	log      []string               // commands, in the order in which they were run
	refuse   map[string]error
	waiting  []forkbox.Waiting
	logs     string                   // a directory that keeps what is printed
	held     map[string]chan struct{} // approaches that get no box until then
	services bool                     // steps leave something running
	exits    map[string]forkbox.Exit  // of commands that end in an odd way
	opened   map[string]chan struct{}
}

func newHost(l forkbox.Ledger, scripts map[string]script) *host {
	return &host{
		ledger: l, scripts: scripts, boxes: map[string]*fakeBox{}, refuse: map[string]error{}, reality: map[string]string{},
		exits: map[string]forkbox.Exit{}, opened: map[string]chan struct{}{},
	}
}

type fakeBox struct {
	forkbox.Box
	files     map[string]string
	snapshots map[string]map[string]string // by id
	names     map[string]string
	execs     []*fakeExec
	ran       map[string]int
}

type fakeExec struct {
	forkbox.Exec
	run    string
	output string
	done   chan struct{}
	env    []string
}

func (h *host) logFile(box, exec string) string { return filepath.Join(h.logs, box+"."+exec) }

// runs says whether the box of an approach does.
func (h *host) runs(approach string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.boxes {
		if b.Approach == approach && b.State == forkbox.Running {
			return true
		}
	}
	return false
}

// fault notes that a promise was broken.
func (h *host) fault(format string, args ...any) {
	h.faults = append(h.faults, fmt.Sprintf(format, args...))
}

// reboot loses everything that runs.
func (h *host) reboot() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.boxes {
		b.end(forkbox.Exit{Code: 125, Cause: forkbox.CauseLost, Why: "the host was restarted"})
	}
}

// end ends what runs in a box.
func (b *fakeBox) end(exit forkbox.Exit) {
	for _, x := range b.execs {
		x.finish(exit)
	}
	b.State = forkbox.Stopped
}

func (x *fakeExec) finish(exit forkbox.Exit) {
	if x.Exit == nil {
		now := time.Now()
		x.Exit, x.Ended = &exit, &now
		close(x.done)
	}
}

// complete does what a command does, unless that never ends, or waits for a
// door to be opened.
func (h *host) complete(b *fakeBox, x *fakeExec) {
	if door, has := h.opened[x.run]; has {
		select {
		case <-door:
		default:
			return
		}
	}
	if exit, odd := h.exits[x.run]; odd {
		x.finish(exit)
		return
	}
	code, output := 0, ""
	if do := h.scripts[x.run]; do != nil {
		n := b.ran[x.run]
		b.ran[x.run]++
		b.files["box"] = b.ID // for who wants to know where it runs
		code, output = do(b.files, n)
		delete(b.files, "box")
	} else if x.run == "hang" {
		return
	} else if name, isCat := cutCat(x.run); isCat {
		text, has := b.files[name]
		if code, output = 0, text; !has {
			code, output = 1, "cat: "+name+": No such file or directory\n"
		}
	}
	x.output = output
	if h.logs != "" {
		_ = os.WriteFile(h.logFile(b.ID, x.ID), []byte(output), 0o600)
	}
	x.finish(forkbox.Exit{Code: code, Cause: forkbox.CauseExited})
}

func cutCat(run string) (string, bool) {
	if len(run) > 7 && run[:7] == "cat -- " {
		return run[7:], true
	}
	return "", false
}

// fakeBoxes is the host as a daemon uses it.
type fakeBoxes struct {
	*host
	fuse *fuse
}

var _ Boxes = fakeBoxes{}

func (f fakeBoxes) do(step func() error) error {
	return f.fuse.step(func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		return step()
	})
}

func (f fakeBoxes) Fence() time.Time          { return time.Now() }
func (f fakeBoxes) Provider() string          { return "native" }
func (f fakeBoxes) Workspace(d string) string { return d }

func (f fakeBoxes) Policy(_ context.Context, _ forkbox.Owner, wish forkbox.Wish) (forkbox.Policy, error) {
	if _, has := wish.Limits[forkbox.Disk]; has {
		return nil, forkbox.Errorf(forkbox.Unsupported, "limit disk", "this host cannot")
	}
	return nil, nil
}

func (f fakeBoxes) Places(forkbox.Owner, string, []string, []string) []string { return nil }

func (f fakeBoxes) Passable(env, allow []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return kv == "SECRET=1" && !slices.Contains(allow, "SECRET") })
}

func (f fakeBoxes) find(who forkbox.Owner, ref string) (*fakeBox, error) {
	for _, b := range f.boxes {
		if b.Owner.UID == who.UID && (b.ID == ref || b.Name == ref) {
			return b, nil
		}
	}
	return nil, forkbox.Errorf(forkbox.NotFound, "find box", "you have no box %q", ref)
}

func (f fakeBoxes) Create(ctx context.Context, who forkbox.Owner, spec engine.CreateSpec) (box forkbox.Box, err error) {
	if held := f.held[spec.Approach]; held != nil {
		<-held
	}
	err = f.do(func() error {
		if err := errors.Join(ctx.Err(), f.refuse["create "+spec.Approach]); err != nil {
			return err
		}
		f.made++
		b := &fakeBox{files: maps.Clone(f.reality), snapshots: map[string]map[string]string{}, names: map[string]string{}, ran: map[string]int{}}
		b.Box = forkbox.Box{
			ID: fmt.Sprintf("%012x", f.made), Name: spec.Name, Owner: who, State: forkbox.Stopped, Dir: spec.Dir,
			Base: forkbox.Base{Kind: forkbox.Reality, Fence: spec.Fence}, Race: spec.Race, Approach: spec.Approach, Env: spec.Env,
			Created: time.Now(), Asked: &spec.Wish,
		}
		if name, snapshot, at := forkbox.SplitRef(spec.From); at {
			parent, err := f.find(who, name)
			if err != nil {
				return err
			}
			b.files = maps.Clone(parent.snapshots[snapshot])
		}
		for _, other := range f.boxes {
			if spec.Race != "" && other.Race == spec.Race && other.Approach == spec.Approach {
				f.fault("%s has two boxes", spec.Approach)
			}
		}
		if err := f.ledger.AddBox(ctx, b.Box); err != nil {
			return err
		}
		f.boxes[b.ID], box = b, b.Box
		return nil
	})
	return box, err
}

func (f fakeBoxes) Box(_ context.Context, who forkbox.Owner, ref string) (box forkbox.Box, err error) {
	err = f.do(func() error {
		b, err := f.find(who, ref)
		if err == nil {
			box = b.Box
		}
		return err
	})
	return box, err
}

func (f fakeBoxes) Stop(_ context.Context, who forkbox.Owner, ref string, _ *time.Duration) (box forkbox.Box, err error) {
	err = f.do(func() error {
		b, err := f.find(who, ref)
		if err != nil {
			return err
		}
		b.end(forkbox.Exit{Code: 143, Cause: forkbox.CauseStopped})
		box = b.Box
		return nil
	})
	return box, err
}

func (f fakeBoxes) Retire(ctx context.Context, who forkbox.Owner, ref string, grace time.Duration) error {
	_, err := f.Stop(ctx, who, ref, &grace)
	return err
}

func (f fakeBoxes) Remove(ctx context.Context, who forkbox.Owner, ref string, _ bool) error {
	return f.do(func() error {
		b, err := f.find(who, ref)
		if err != nil {
			return err
		}
		b.end(forkbox.Exit{Code: 137, Cause: forkbox.CauseStopped})
		delete(f.boxes, b.ID)
		return f.ledger.DeleteBox(ctx, b.ID)
	})
}

func (f fakeBoxes) Supersede(ctx context.Context, who forkbox.Owner, boxes []string, receipt string) error {
	return f.do(func() error {
		for _, id := range boxes {
			if b := f.boxes[id]; b != nil {
				b.Stale = &forkbox.Staleness{Receipt: receipt, Box: "winner", Lost: true}
				if err := f.ledger.UpdateBox(ctx, b.Box); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (f fakeBoxes) Exec(ctx context.Context, who forkbox.Owner, ref string, req engine.ExecRequest, _ forkbox.Stdio) (exec forkbox.Exec, err error) {
	err = f.do(func() error {
		b, err := f.find(who, ref)
		if err = errors.Join(ctx.Err(), err); err != nil {
			return err
		}
		run := req.Argv[len(req.Argv)-1]
		if req.Argv[0] == "cat" {
			run = "cat -- " + run
		}
		for _, x := range b.execs {
			if x.Label == req.Label {
				f.fault("%s was run twice in %s", req.Label, b.Name)
			}
		}
		x := &fakeExec{run: run, done: make(chan struct{}), env: req.ExtraEnv}
		x.Exec = forkbox.Exec{
			ID: strconv.Itoa(len(b.execs) + 1), Box: b.ID, Argv: req.Argv, Dir: req.Dir, Label: req.Label, Started: time.Now(),
		}
		b.execs, b.State = append(b.execs, x), forkbox.Running
		f.log = append(f.log, b.Approach+": "+run)
		if f.logs != "" {
			if err := os.WriteFile(f.logFile(b.ID, x.ID), nil, 0o600); err != nil {
				return err
			}
		}
		exec = x.Exec
		return nil
	})
	return exec, err
}

// Wait is when a command does what it does: until then it runs.
func (f fakeBoxes) Wait(ctx context.Context, who forkbox.Owner, ref, id string) (exec forkbox.Exec, err error) {
	var x *fakeExec
	var door chan struct{}
	err = f.do(func() error {
		b, err := f.find(who, ref)
		if err != nil {
			return err
		}
		n, _ := strconv.Atoi(id)
		x = b.execs[n-1]
		door = f.opened[x.run]
		f.complete(b, x)
		return nil
	})
	if err != nil {
		return exec, err
	}
	select {
	case <-door:
		return f.Wait(ctx, who, ref, id)
	case <-x.done:
		f.mu.Lock()
		defer f.mu.Unlock()
		return x.Exec, nil
	case <-ctx.Done():
		return exec, forkbox.Errorf(forkbox.TimedOut, "wait for exec", "it is still running: %w", ctx.Err())
	case <-f.fuse.dead():
		return exec, errDied
	}
}

func (f fakeBoxes) Execs(_ context.Context, who forkbox.Owner, ref string) (list []forkbox.Exec, err error) {
	err = f.do(func() error {
		b, err := f.find(who, ref)
		if err != nil {
			return err
		}
		for _, x := range b.execs {
			list = append(list, x.Exec)
		}
		return nil
	})
	return list, err
}

func (f fakeBoxes) Logs(ctx context.Context, who forkbox.Owner, ref, id string, follow bool, yield func(forkbox.LogRecord) error) error {
	var x *fakeExec
	err := f.do(func() error {
		b, err := f.find(who, ref)
		if err == nil {
			n, _ := strconv.Atoi(id)
			x = b.execs[n-1]
		}
		return err
	})
	if err != nil {
		return err
	}
	if follow {
		select {
		case <-x.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	output := x.output
	f.mu.Unlock()
	return yield(forkbox.LogRecord{Stream: "stdout", Data: []byte(output)})
}

func (f fakeBoxes) Occupied(_ context.Context, who forkbox.Owner, ref string) (occupied bool, err error) {
	err = f.do(func() error {
		b, err := f.find(who, ref)
		occupied = err == nil && b.State == forkbox.Running && f.services
		return err
	})
	return occupied, err
}

func (f fakeBoxes) Queue(context.Context, forkbox.Owner) (list []forkbox.Waiting, err error) {
	err = f.do(func() error { list = f.waiting; return nil })
	return list, err
}

func (f fakeBoxes) Consumed(_ context.Context, who forkbox.Owner, ref string) (s forkbox.Stats, err error) {
	err = f.do(func() error {
		_, err := f.find(who, ref)
		s = forkbox.Stats{CPU: time.Second, MemoryPeak: 1 << 20}
		return err
	})
	return s, err
}
