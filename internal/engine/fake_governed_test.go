package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

var (
	_ forkbox.Governor = fakeProvider{}
	_ forkbox.Governed = fakeInstance{}
)

// fakeGovernor is what an imaginary machine limits. The host's mu guards it.
type fakeGovernor struct {
	holds  map[forkbox.Resource]forkbox.Holding
	limits map[string]forkbox.Policy // what holds, by box
	disk   map[string]usage
}

func newFakeGovernor() fakeGovernor {
	held := map[forkbox.Resource]forkbox.Holding{}
	for _, r := range forkbox.Resources {
		held[r] = forkbox.Holding{How: forkbox.Enforced}
	}
	return fakeGovernor{held, map[string]forkbox.Policy{}, map[string]usage{}}
}

func (h *host) setHow(r forkbox.Resource, how forkbox.How) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gov.holds = maps.Clone(h.gov.holds)
	h.gov.holds[r] = forkbox.Holding{How: how}
}

func (h *host) setUsed(box string, u usage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gov.disk[box] = u
}

func (h *host) held(box string) forkbox.Policy {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gov.limits[box]
}

func (p fakeProvider) Holds() map[forkbox.Resource]forkbox.Holding {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gov.holds
}

func (p fakeProvider) Limit(_ context.Context, box forkbox.Box, running forkbox.Instance) error {
	return p.act("limit", func() error {
		if (p.instances[box.ID] != nil) != (running != nil) {
			return errors.New("it was said wrongly whether it runs")
		}
		p.gov.limits[box.ID] = box.Policy
		return nil
	})
}

func (p fakeProvider) Used(_ context.Context, box forkbox.Box) (bytes, inodes int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.gov.disk[box.ID]
	return u.bytes, u.inodes, p.failures["used"]
}

func (i fakeInstance) Pause(context.Context) error {
	return i.p.act("pause", func() error { i.machine.paused = true; return nil })
}

func (i fakeInstance) Resume(context.Context) error {
	var heard []string
	err := i.p.act("resume", func() error {
		heard, i.machine.pending, i.machine.paused = i.machine.pending, nil, false
		return nil
	})
	for _, id := range heard {
		i.exit(id, forkbox.Exit{Code: 143, Signal: "SIGTERM", Cause: forkbox.CauseSignalled})
	}
	return err
}

func (i fakeInstance) Stats(context.Context) (forkbox.Stats, error) {
	i.host.mu.Lock()
	defer i.host.mu.Unlock()
	return i.machine.stats, i.host.failures["stats"]
}

func (i fakeInstance) Suspend(context.Context, string) (bool, error) { return true, nil }

func (i fakeInstance) Attach(_ context.Context, id string, stdio forkbox.Stdio) error {
	stdio.Close()
	return i.p.act("relay", func() error { i.machine.relayed = append(i.machine.relayed, id); return nil })
}

func (i fakeInstance) LastWords() *forkbox.Exit {
	i.host.mu.Lock()
	defer i.host.mu.Unlock()
	return i.machine.words
}

// with changes a machine.
func (m *machine) with(do func(*machine)) {
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	do(m)
}

func (m *machine) isPaused() (paused bool) {
	m.with(func(m *machine) { paused = m.paused })
	return paused
}

// usage is the disk that a box takes.
type usage struct{ bytes, inodes int64 }

// limitIn is a limit, or nothing where there is none.
func limitIn(p forkbox.Policy, r forkbox.Resource) int64 {
	v, has := p.Of(r)
	if !has {
		return 0
	}
	return v
}

// fakePolicies: flags, else the project's, else defaults; narrowed by a floor.
type fakePolicies struct {
	mu       sync.Mutex
	floor    forkbox.Limits
	defaults forkbox.Limits
	admit    func(Committed, Want) Verdict
	patience time.Duration
	asked    []Want
}

func (p *fakePolicies) with(do func(*fakePolicies)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(p)
}

func (p *fakePolicies) Resolve(_ forkbox.Owner, wish forkbox.Wish, holds map[forkbox.Resource]forkbox.Holding, box forkbox.Policy, exec bool) (forkbox.Policy, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	policy := forkbox.Policy{}
	put := func(from string, l forkbox.Limits) {
		for r, v := range l {
			policy[r] = forkbox.Rule{Value: v, From: from, How: holds[r].How}
		}
	}
	if exec {
		put("box", forkbox.Limits{})
		for _, r := range []forkbox.Resource{forkbox.Timeout, forkbox.Kept, forkbox.Files} {
			if rule, has := box[r]; has {
				policy[r] = rule
			}
		}
	} else {
		put("default", p.defaults)
		put("project "+wish.ProjectFile, wish.Project)
	}
	put("box", wish.Limits)
	for r, floor := range p.floor {
		if exec {
			continue
		}
		if said, has := wish.Limits[r]; has && forkbox.Tighter(floor, said) {
			return nil, forkbox.Errorf(forkbox.Denied, "limit", "the host allows %s at most", forkbox.FormatLimit(r, floor))
		}
		if rule, has := policy[r]; !has || forkbox.Tighter(floor, rule.Value) {
			policy[r] = forkbox.Rule{Value: floor, From: "host", How: holds[r].How}
		}
	}
	for r, rule := range policy {
		if _, said := wish.Limits[r]; said && rule.How == forkbox.NotEnforced && !wish.BestEffort {
			return nil, forkbox.Errorf(forkbox.Unsupported, "limit", "%s cannot be", r)
		}
	}
	return policy, nil
}

func (p *fakePolicies) Admit(now Committed, want Want) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, want)
	if p.admit == nil {
		return Verdict{OK: true}
	}
	return p.admit(now, want)
}

func (p *fakePolicies) Patience() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return core.OrElse(p.patience, time.Minute)
}

var day = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// fakeClock is a host's clocks.
type fakeClock struct {
	mu  sync.Mutex
	now core.Instant
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: core.Instant{Time: day, Boot: "b1", Since: time.Hour}}
}

func (c *fakeClock) pass(d time.Duration) {
	c.change(func(i *core.Instant) { i.Time, i.Since = i.Time.Add(d), i.Since+d })
}

func (c *fakeClock) change(do func(*core.Instant)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do(&c.now)
}

func (c *fakeClock) read() core.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// governedWorld is a world with policies and clocks.
type governedWorld struct {
	*world
	policies *fakePolicies
	clock    *fakeClock
	dir      string
	short    func() (bool, string)
}

func newGovernedWorld(w *world) *governedWorld {
	g := &governedWorld{world: w, policies: &fakePolicies{}, clock: newFakeClock(), dir: w.t.TempDir()}
	g.again()
	return g
}

// again puts a new engine in charge.
func (g *governedWorld) again() {
	g.t.Helper()
	g.restart(&fuse{}, g.configure)
}

func (g *governedWorld) configure(c *Config) {
	c.Policies = g.policies
	c.Clock = func() (string, time.Duration) { now := g.clock.read(); return now.Boot, now.Since }
	c.Now = func() time.Time { return g.clock.read().Time }
	c.Series = func(box string) string { return g.dir + "/" + box }
	c.Tick, c.SampleEvery, c.WatchEvery = time.Millisecond, time.Millisecond, time.Millisecond
	c.Reserve = g.short
}

func (g *governedWorld) box(ref string) forkbox.Box {
	g.t.Helper()
	b, err := g.Box(context.Background(), ada, ref)
	check(g.t, err)
	return b
}

func (g *governedWorld) make(name string, l forkbox.Limits) forkbox.Box {
	g.t.Helper()
	b, err := g.Create(context.Background(), ada, CreateSpec{Name: name, Wish: forkbox.Wish{Limits: l}})
	check(g.t, err)
	return b
}

// events are the kinds of what happened to a box.
func (g *governedWorld) events(ref string) (kinds []forkbox.EventKind) {
	g.t.Helper()
	check(g.t, g.Events(context.Background(), ada, EventSpec{Box: ref}, func(e forkbox.Event) error {
		kinds = append(kinds, e.Kind)
		return nil
	}))
	return kinds
}

func (g *governedWorld) happened(ref string, kind forkbox.EventKind) bool {
	return slices.Contains(g.events(ref), kind)
}
