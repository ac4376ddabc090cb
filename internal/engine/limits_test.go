package engine

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestCreateResolvesLimits(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.policies.with(func(p *fakePolicies) {
		p.defaults, p.floor = forkbox.Limits{forkbox.Pids: 4096}, forkbox.Limits{forkbox.Memory: 8 << 30}
	})
	b := w.make("one", forkbox.Limits{forkbox.Memory: 1 << 30, forkbox.TTL: int64(time.Hour)})
	for r, want := range map[forkbox.Resource]forkbox.Rule{
		forkbox.Memory: {Value: 1 << 30, From: "box", How: forkbox.Enforced},
		forkbox.Pids:   {Value: 4096, From: "default", How: forkbox.Enforced},
	} {
		if b.Policy[r] != want {
			t.Errorf("%s: %+v, want %+v", r, b.Policy[r], want)
		}
	}
	if b.Ends == nil || *b.Ends != *w.clock.read().In(time.Hour) {
		t.Errorf("it ends at %+v", b.Ends)
	}
	for _, c := range []struct {
		wish forkbox.Wish
		code forkbox.Code
	}{
		{forkbox.Wish{Limits: forkbox.Limits{forkbox.Memory: 9 << 30}}, forkbox.Denied},
		{forkbox.Wish{Limits: forkbox.Limits{"water": 1}}, forkbox.Invalid},
		{forkbox.Wish{Priority: "most"}, forkbox.Invalid},
		{forkbox.Wish{Priority: forkbox.HighPriority}, forkbox.Denied},
	} {
		_, err := w.Create(t.Context(), forkbox.Owner{UID: 4711, Name: "eve"}, CreateSpec{Wish: c.wish})
		wantCode(t, err, c.code)
	}
	_, err := w.Create(t.Context(), root, CreateSpec{Wish: forkbox.Wish{Priority: forkbox.HighPriority}})
	check(t, err)
}

func TestWithoutPoliciesNothingIsSilentlyIgnored(t *testing.T) {
	w := newWorld(t)
	wish := forkbox.Wish{Limits: forkbox.Limits{forkbox.Memory: 1 << 30}}
	_, err := w.Create(t.Context(), ada, CreateSpec{Wish: wish})
	wantCode(t, err, forkbox.Unsupported)
	_, err = w.Create(t.Context(), ada, CreateSpec{Wish: forkbox.Wish{Project: wish.Limits, ProjectFile: "/f"}})
	wantCode(t, err, forkbox.Unsupported)
	wish.BestEffort = true
	b, err := w.Create(t.Context(), ada, CreateSpec{Wish: wish})
	if err != nil || b.Policy[forkbox.Memory].How != forkbox.NotEnforced || !b.BestEffort {
		t.Errorf("got %+v, %v", b, err)
	}
}

func TestExecLimits(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.make("one", forkbox.Limits{forkbox.Timeout: int64(time.Hour), forkbox.Kept: 100})
	for _, c := range []struct {
		timeout time.Duration
		wish    forkbox.Limits
		want    time.Duration
		kept    int64
	}{
		{0, nil, time.Hour, 100},
		{time.Second, nil, time.Second, 100},
		{0, forkbox.Limits{forkbox.Timeout: int64(time.Minute), forkbox.Kept: 7}, time.Minute, 7},
		{0, forkbox.Limits{forkbox.Timeout: forkbox.Unlimited, forkbox.Kept: forkbox.Unlimited}, 0, math.MaxInt64},
	} {
		req := command("true")
		req.Timeout, req.Wish.Limits = c.timeout, c.wish
		x, err := w.Exec(t.Context(), ada, "one", req, forkbox.Stdio{})
		check(t, err)
		if w.host.last.Timeout != c.want || w.host.lastKept != c.kept {
			t.Errorf("%+v: timeout %s, kept %d", c, w.host.last.Timeout, w.host.lastKept)
		}
		got, err := w.GetExec(t.Context(), ada, "one", x.ID)
		if err != nil || len(got.Policy) != len(x.Policy) || len(x.Policy) == 0 {
			t.Errorf("recorded %+v, %v", got, err)
		}
	}
	req := command("true")
	req.Wish.Limits = forkbox.Limits{forkbox.Memory: 1 << 20}
	_, err := w.Exec(t.Context(), ada, "one", req, forkbox.Stdio{})
	wantCode(t, err, forkbox.Invalid) // too little for anything
	req.Wish.Limits = forkbox.Limits{forkbox.Memory: 64 << 20}
	_, err = w.Exec(t.Context(), ada, "one", req, forkbox.Stdio{})
	check(t, err)
	if w.host.last.Limits[forkbox.Memory] != 64<<20 {
		t.Errorf("the instance is told %+v", w.host.last.Limits)
	}
	w.host.setHow(forkbox.CPUs, forkbox.NotEnforced)
	req.Wish.Limits = forkbox.Limits{forkbox.CPUs: 500}
	_, err = w.Exec(t.Context(), ada, "one", req, forkbox.Stdio{})
	wantCode(t, err, forkbox.Unsupported)
}

func TestForkHasItsParentsLimits(t *testing.T) {
	l := newLayeredWorld(t, true)
	w := newGovernedWorld(l.world)
	l.world.restart(&fuse{}, func(c *Config) {
		w.configure(c)
		c.Provider = layeredProvider{fakeProvider{l.host, &fuse{}}, l.shelf}
	})
	w.make("one", forkbox.Limits{forkbox.Memory: 1 << 30, forkbox.Pids: 100})
	f, err := w.ForkWith(t.Context(), ada, "one", forkbox.ForkSpec{Count: 2}, forkbox.Wish{Limits: forkbox.Limits{forkbox.Pids: 50}}, forkbox.NetWish{})
	check(t, err)
	for _, c := range f.Children {
		if c.Error != nil || c.Box.Policy[forkbox.Memory].Value != 1<<30 || c.Box.Policy[forkbox.Pids].Value != 50 {
			t.Fatalf("got %+v", c)
		}
	}
	b, err := w.Create(t.Context(), ada, CreateSpec{From: "one@" + f.Snapshot.Name})
	if err != nil || b.Policy[forkbox.Pids].Value != 100 {
		t.Errorf("got %+v, %v", b.Policy, err)
	}
}

func TestSet(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.policies.with(func(p *fakePolicies) { p.defaults = forkbox.Limits{forkbox.Pids: 4096} })
	b := w.make("one", forkbox.Limits{forkbox.Memory: 1 << 30})
	for _, running := range []bool{false, true} {
		if running {
			w.exec("one")
		}
		want := int64(2 << 30)
		if running {
			want = 3 << 30
		}
		got, err := w.Set(t.Context(), ada, "one", forkbox.Wish{Limits: forkbox.Limits{forkbox.Memory: want, forkbox.Pids: forkbox.Unlimited}})
		check(t, err)
		if v, _ := got.Policy.Of(forkbox.Memory); v != want || w.host.held(b.ID)[forkbox.Memory].Value != want {
			t.Errorf("it says %d, and %+v holds", v, w.host.held(b.ID))
		}
		if _, has := w.box("one").Policy.Of(forkbox.Pids); has {
			t.Error("a default that was lifted holds")
		}
	}
	var texts []string
	check(t, w.Events(t.Context(), ada, EventSpec{Box: "one", Kinds: forkbox.EventFilter{"policy.*"}}, func(e forkbox.Event) error { texts = append(texts, e.Text); return nil }))
	if want := "memory 1g → 2g, pids 4096 → unlimited|memory 2g → 3g"; strings.Join(texts, "|") != want {
		t.Errorf("told %q", texts)
	}
}

// A set that fails changes nothing: neither what holds nor what is written.
func TestSetThatFailsChangesNothing(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.policies.with(func(p *fakePolicies) { p.floor = forkbox.Limits{forkbox.Memory: 8 << 30} })
	b := w.make("one", forkbox.Limits{forkbox.Memory: 1 << 30})
	w.exec("one")
	check(t, w.set1(2<<30))
	wantCode(t, w.set1(9<<30), forkbox.Denied)
	w.host.fail("limit", errors.New("no such file"))
	wantCode(t, w.set1(3<<30), forkbox.Internal)
	w.host.fail("limit", nil)
	f := &fuse{at: 3} // limit, and then the ledger
	w.restart(f, w.configure)
	f.mu.Lock()
	f.at = f.steps + 2
	f.mu.Unlock()
	if err := w.set1(4 << 30); err == nil {
		t.Error("a set that was not written succeeded")
	}
	w.again()
	if v := w.box("one").Policy[forkbox.Memory].Value; v != 2<<30 || w.host.held(b.ID)[forkbox.Memory].Value != v {
		t.Errorf("%d is written, and %+v holds", v, w.host.held(b.ID))
	}
}

func (g *governedWorld) set1(memory int64) error {
	_, err := g.Set(g.t.Context(), ada, "one", forkbox.Wish{Limits: forkbox.Limits{forkbox.Memory: memory}})
	return err
}

// The host's limits hold for whatever starts, also if it was made before.
func TestStartIsUnderTheLimitsOfNow(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.make("one", nil)
	w.make("two", forkbox.Limits{forkbox.Memory: 8 << 30})
	w.policies.with(func(p *fakePolicies) { p.floor = forkbox.Limits{forkbox.Memory: 4 << 30} })
	_, err := w.Start(t.Context(), ada, "one")
	check(t, err)
	if rule := w.box("one").Policy[forkbox.Memory]; rule.Value != 4<<30 || rule.From != "host" {
		t.Errorf("got %+v", rule)
	}
	w.policies.with(func(p *fakePolicies) { p.floor[forkbox.Disk] = 1 << 30 })
	_, err = w.Stop(t.Context(), ada, "one", nil)
	check(t, err)
	w.exec("one")
	if o := w.Line.Committed().ByUser[ada.UID]; o.Boxes != 2 || o.Disk != 1<<30 {
		t.Errorf("counted %+v", o)
	}
	_, err = w.Start(t.Context(), ada, "two")
	wantCode(t, err, forkbox.Denied)
	_, err = w.Set(t.Context(), ada, "two", forkbox.Wish{Limits: forkbox.Limits{forkbox.Memory: 1 << 30}})
	check(t, err)
	_, err = w.Start(t.Context(), ada, "two")
	check(t, err)
	if len(w.Holds(t.Context())) != len(forkbox.Resources) {
		t.Error("it does not say how limits are held")
	}
	p, err := w.Policy(t.Context(), ada, forkbox.Wish{Limits: forkbox.Limits{forkbox.Pids: 7}})
	if err != nil || p[forkbox.Pids].Value != 7 || p[forkbox.Memory].From != "host" {
		t.Errorf("got %+v, %v", p, err)
	}
}
