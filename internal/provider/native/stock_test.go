//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/providertest"
)

// TestSparesWanted: as many as boxes of a kind were asked for at once.
func TestSparesWanted(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(key string, ms ...int) (list []begun) {
		for _, n := range ms {
			list = append(list, begun{key: key, when: now.Add(time.Duration(n) * time.Millisecond)})
		}
		return list
	}
	for name, c := range map[string]struct {
		recent []begun
		want   int
	}{
		"no box":               {nil, 0},
		"a single box":         {at("a", 0), 0},
		"one after the other":  {at("a", 0, 500, 1000), 1},
		"three at once":        {at("a", 0, 5, 10), 3},
		"three, and one later": {at("a", 0, 5, 10, 900), 3},
		"more than there may":  {at("a", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), maxSpares},
		"of another kind":      {append(at("b", 0, 5, 10), at("a", 20)...), 0},
		"of two kinds":         {append(at("b", 0, 5, 10), at("a", 20, 30)...), 2},
	} {
		s := &spares{recent: c.recent}
		if got := s.wanted("a"); got != c.want {
			t.Errorf("%s: %d are wanted, not %d", name, got, c.want)
		}
	}
}

// TestManySpares: boxes that are asked for at once find as many spares the next
// time, each takes one of its own, and at rest there is none.
func TestManySpares(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	for !manySpares(t, p, l) {
		// Something was mounted or unmounted on the host meanwhile, rightly so.
	}
	providertest.Eventually(t, "there is none at rest", func() bool { return !haveSpare(p) })
	nothingRuns(t, p.home)
}

// manySpares returns false if the spares could not fit: the host has other mounts
// than when they were made.
func manySpares(t *testing.T, p *Provider, l *providertest.Lab) bool {
	t.Helper()
	const n = 4
	plan, err := p.builder.outline(l.Box())
	must(t, err)
	for range n {
		p.spares.stock(plan)
	}
	providertest.Eventually(t, "there are spares", func() bool { return len(readySpares(p)) == n })
	spares := readySpares(p)
	boxes, taken := startAtOnce(t, p, l, n)
	now, err := p.builder.outline(l.Box())
	must(t, err)
	fit := now.key() == plan.key()
	for i, inst := range taken {
		if fit && !slices.ContainsFunc(spares, func(s *spare) bool { return s.instance == inst }) {
			t.Errorf("%s is no spare's", boxes[i].Name)
		}
		name := fmt.Sprintf("/proc/%d/root/etc/hostname", inst.process.PID)
		providertest.Eventually(t, "it has its box's name", func() bool {
			raw, _ := os.ReadFile(name)
			return string(raw) == boxes[i].Name+"\n"
		})
		must(t, inst.Stop(context.Background(), 0))
	}
	if !fit {
		providertest.Eventually(t, "the spares are gone", func() bool { return !haveSpare(p) })
	}
	return fit
}

func startAtOnce(t *testing.T, p *Provider, l *providertest.Lab, n int) (boxes []forkbox.Box, taken []*instance) {
	t.Helper()
	taken = make([]*instance, n)
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		box := l.Box()
		boxes = append(boxes, box)
		all.Go(func() {
			inst, err := p.Start(context.Background(), box)
			if errs[i] = err; err == nil {
				taken[i] = inst.(*instance)
			}
		})
	}
	all.Wait()
	must(t, errors.Join(errs...))
	return boxes, taken
}

// TestSpareShowsRealityAsItIsNow: what changed since it was made is seen, also
// where a user worked a moment before: a directory that was made again under
// its old name, a program that was not there yet.
func TestSpareShowsRealityAsItIsNow(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	dir := providertest.Tree(t, map[string]string{"bin/keep": "", "here/old": "old"})
	spec := providertest.Shell("exec tool")
	ask := func(r *providertest.Running) string {
		spec.Dir = dir + "/here"
		spec.Env = []string{"PATH=" + dir + "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
		res := r.Run(spec, nil)
		return res.Stdout + res.Stderr
	}
	if got := ask(l.Start(l.Box())); !strings.Contains(got, "not found") {
		t.Fatalf("before: %s", got)
	}
	s, err := p.spares.build(l.Box())
	must(t, err)
	must(t, os.RemoveAll(dir+"/here"))
	must(t, os.Mkdir(dir+"/here", 0o755))
	must(t, os.WriteFile(dir+"/here/new", []byte("new"), 0o644))
	must(t, os.WriteFile(dir+"/bin/tool", []byte("#!/bin/sh\nls; cat new\n"), 0o755))
	p.spares.mu.Lock()
	p.spares.ready = slices.Insert(p.spares.ready, 0, s)
	p.spares.mu.Unlock()
	r := l.Start(l.Box())
	if r.Instance.(*instance) != s.instance {
		t.Fatal("the test is blind: the spare was not taken")
	}
	if got := ask(r); got != "new\nnew" {
		t.Errorf("after: %q", got)
	}
}

// TestSpareTakesLimits: those of its box hold, whatever it was made with.
func TestSpareTakesLimits(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	spawn := providertest.Shell("for i in 1 2 3 4 5 6 7 8 9; do sleep 1 & done; wait")
	for _, c := range []struct {
		spare, box int64
		cause      forkbox.Cause
	}{{8, 8, forkbox.CausePids}, {100, 8, forkbox.CausePids}, {8, 100, forkbox.CauseExited}} {
		like := ruled(t, p, l, forkbox.Limits{forkbox.Pids: c.spare})
		s, err := p.spares.build(like)
		must(t, err)
		p.spares.mu.Lock()
		p.spares.ready = slices.Insert(p.spares.ready, 0, s) // the first that fits is taken
		p.spares.mu.Unlock()
		r := l.Start(ruled(t, p, l, forkbox.Limits{forkbox.Pids: c.box}))
		if r.Instance.(*instance) != s.instance {
			t.Fatal("the test is blind: the spare was not taken")
		}
		if got := r.Run(spawn, nil).Exit; got.Cause != c.cause {
			t.Errorf("a spare with %d processes in a box with %d: %+v", c.spare, c.box, got)
		}
		must(t, r.Instance.Stop(context.Background(), 0))
	}
}

func readySpares(p *Provider) []*spare {
	p.spares.mu.Lock()
	defer p.spares.mu.Unlock()
	return slices.Clone(p.spares.ready)
}
