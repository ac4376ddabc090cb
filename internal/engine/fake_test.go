package engine

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/forkbox/forkbox"
)

// host is what an imaginary machine has of boxes. It outlives engines, as the
// real one outlives daemons.
type host struct {
	mu        sync.Mutex
	stored    map[string]bool
	instances map[string]*machine
	failures  map[string]error // by method
	removes   int
	last      forkbox.ExecSpec
	lastKept  int64
	gov       fakeGovernor
	plain     bool                   // instances have no network of their own
	mayExec   func(box string) error // asked before each exec, if there
	onStop    func(*machine)         // called while an instance is stopped
	supports  map[forkbox.Net]error  // networks that cannot be given
}

func newHost() *host {
	return &host{stored: map[string]bool{}, instances: map[string]*machine{}, failures: map[string]error{}, gov: newFakeGovernor()}
}

func (h *host) fail(method string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures[method] = err
}

func (h *host) instance(id string) *machine {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.instances[id]
}

// machine is a running box.
type machine struct {
	host    *host
	id      string
	running map[string]bool
	others  []forkbox.Process
	unsaid  map[string]forkbox.Exit
	fuse    *fuse // of the engine that watches
	exited  func(string, forkbox.Exit, forkbox.Output)
	done    chan struct{}
	paused  bool
	pending []string // execs with a signal that they have not heard yet
	stats   forkbox.Stats
	words   *forkbox.Exit
	relayed []string
	listens map[int]bool
}

// exit is an exec's end.
func (m *machine) exit(exec string, exit forkbox.Exit) {
	m.host.mu.Lock()
	if !m.running[exec] {
		m.host.mu.Unlock()
		return
	}
	delete(m.running, exec)
	m.unsaid[exec] = exit
	m.host.mu.Unlock()
	m.tell()
}

// tell hands over exits, and keeps those that a dead engine could not hear.
func (m *machine) tell() {
	m.host.mu.Lock()
	unsaid, exited := m.unsaid, m.exited
	if exited == nil || m.fuse.isBlown() {
		m.host.mu.Unlock()
		return
	}
	m.unsaid = map[string]forkbox.Exit{}
	m.host.mu.Unlock()
	for id, exit := range unsaid {
		exited(id, exit, forkbox.Output{Kept: 1})
		if m.fuse.isBlown() { // it died before it could write that down
			m.host.mu.Lock()
			m.unsaid[id] = exit
			m.host.mu.Unlock()
		}
	}
}

// die ends the machine; killed says whether execs still get to tell.
func (m *machine) die(killed bool) {
	m.host.mu.Lock()
	var execs []string
	for id := range m.running {
		execs = append(execs, id)
	}
	m.host.mu.Unlock()
	if killed {
		for _, id := range execs {
			m.exit(id, forkbox.Exit{Code: 137, Signal: "SIGKILL", Cause: forkbox.CauseSignalled})
		}
	}
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	if m.host.instances[m.id] == m {
		delete(m.host.instances, m.id)
		close(m.done)
	}
}

// fakeProvider is one engine's way to the host.
type fakeProvider struct {
	*host
	fuse *fuse
}

func (p fakeProvider) Name() string { return "fake" }

func (p fakeProvider) act(method string, do func() error) error {
	return p.fuse.step(func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if err := p.failures[method]; err != nil {
			return err
		}
		return do()
	})
}

func (p fakeProvider) Prepare(_ context.Context, box forkbox.Box) error {
	return p.act("prepare", func() error { p.stored[box.ID] = true; return nil })
}

func (p fakeProvider) Start(ctx context.Context, box forkbox.Box) (forkbox.Instance, error) {
	var m *machine
	err := p.act("start", func() error {
		if !p.stored[box.ID] || p.instances[box.ID] != nil {
			return errors.New("nothing stored, or started twice")
		}
		m = &machine{host: p.host, id: box.ID, running: map[string]bool{},
			unsaid: map[string]forkbox.Exit{}, done: make(chan struct{})}
		p.instances[box.ID] = m
		p.gov.limits[box.ID] = box.Policy
		return nil
	})
	if err != nil {
		return nil, err
	}
	if p.plain {
		return struct{ forkbox.Instance }{fakeInstance{m, p}}, nil
	}
	return fakeInstance{m, p}, nil
}

func (p fakeProvider) Attach(_ context.Context, box forkbox.Box) (forkbox.Instance, error) {
	var m *machine
	err := p.act("attach", func() error {
		if m = p.instances[box.ID]; m == nil {
			return forkbox.Errorf(forkbox.NotFound, "attach", "it does not run")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return fakeInstance{m, p}, nil
}

func (p fakeProvider) Remove(_ context.Context, box forkbox.Box) error {
	return p.act("remove", func() error {
		if p.instances[box.ID] != nil {
			return errors.New("it runs")
		}
		p.removes++
		delete(p.stored, box.ID)
		return nil
	})
}

func (p fakeProvider) Changes(_ context.Context, _ forkbox.Box, yield func(forkbox.Change, forkbox.Sides) error) error {
	return yield(forkbox.Change{Path: "/etc/passwd", Kind: forkbox.Deleted}, noSides{})
}

// noSides is a change of which nothing more is known.
type noSides struct{}

func (noSides) Old() (forkbox.Node, error)                         { return forkbox.Node{}, os.ErrNotExist }
func (noSides) New() (forkbox.Node, error)                         { return forkbox.Node{}, os.ErrNotExist }
func (noSides) OpenOld() (*os.File, error)                         { return nil, os.ErrNotExist }
func (noSides) OpenNew() (*os.File, error)                         { return nil, os.ErrNotExist }
func (noSides) Copied() bool                                       { return false }
func (noSides) Below(func(string, forkbox.Node, bool) error) error { return nil }

func (p fakeProvider) Checks(context.Context) []forkbox.Check {
	return []forkbox.Check{{Name: "fake", Status: forkbox.OK}}
}

func (p fakeProvider) Stored(context.Context) (ids []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.stored {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

// fakeInstance is one engine's way to a machine.
type fakeInstance struct {
	*machine
	p fakeProvider
}

func (i fakeInstance) Exec(_ context.Context, id string, spec forkbox.ExecSpec, _ forkbox.Owner, stdio forkbox.Stdio, log *os.File, kept int64) error {
	stdio.Close()
	log.Close()
	return i.p.act("exec", func() error {
		if spec.Argv[0] == "nonsense" {
			return forkbox.Errorf(forkbox.CommandNotFound, "run nonsense", "there is no such program")
		}
		if i.p.mayExec != nil {
			if err := i.p.mayExec(i.id); err != nil {
				return err
			}
		}
		i.running[id] = true
		i.p.last, i.p.lastKept = spec, kept
		return nil
	})
}

func (i fakeInstance) Watch(exited func(string, forkbox.Exit, forkbox.Output)) (running []string, err error) {
	err = i.p.act("watch", func() error {
		i.machine.exited, i.machine.fuse = exited, i.p.fuse
		for id := range i.running {
			running = append(running, id)
		}
		return nil
	})
	if err == nil {
		i.tell()
	}
	return running, err
}

// Signal reaches what stands still when that goes on.
func (i fakeInstance) Signal(_ context.Context, id string, _ int) error {
	if i.isPaused() {
		i.with(func(m *machine) { m.pending = append(m.pending, id) })
		return nil
	}
	i.exit(id, forkbox.Exit{Code: 143, Signal: "SIGTERM", Cause: forkbox.CauseSignalled})
	return nil
}

func (i fakeInstance) Kill(ctx context.Context, id string, _ forkbox.Grace) error {
	if i.isPaused() { // as in a frozen group of version 1
		return errors.New("its processes do not end")
	}
	return i.Signal(ctx, id, 15)
}

func (i fakeInstance) Resize(context.Context, string, forkbox.Size) error { return nil }

func (i fakeInstance) Processes(context.Context) ([]forkbox.Process, error) {
	i.host.mu.Lock()
	defer i.host.mu.Unlock()
	return append([]forkbox.Process{{PID: 1}}, i.others...), nil
}

func (i fakeInstance) Stop(context.Context, forkbox.Grace) error {
	if err := i.p.act("stop", func() error { return nil }); err != nil {
		return err
	}
	if i.p.onStop != nil {
		i.p.onStop(i.machine)
	}
	i.die(true)
	return i.p.fuse.step(func() error { return nil })
}

func (i fakeInstance) Root() (*os.File, error) { return os.Open(os.TempDir()) }

func (i fakeInstance) Done() <-chan struct{} { return i.done }
