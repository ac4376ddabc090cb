//go:build linux

package main

import (
	"testing"

	"github.com/forkbox/forkbox"
)

// TestLimitsCrash kills the daemon while a limited command runs. What dies
// meanwhile has the right cause afterwards, the next daemon holds the box to
// the same, and nothing is left when it is removed.
func TestLimitsCrash(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.needs(forkbox.Memory, forkbox.Swap, forkbox.Pids)
	box := w.create("crash", "memory=128m swap=0 pids=100").ID
	hog := w.begin(box, "", "memory-steps")
	hog.hears("ready")
	w.kill()
	hog.says("512m")
	w.until("the kernel has killed it", func() bool { return len(processesWith("memory-steps", w.self)) == 0 })
	w.serve()
	done, _ := hog.ends()
	w.oom(done, 128*mib)

	b := w.box(box)
	if b.Policy[forkbox.Memory].Value != 128*mib || b.Policy[forkbox.Pids].Value != 100 {
		t.Errorf("the next daemon knows these limits: %+v", b.Policy)
	}
	w.survives(box)
	again, _ := w.run(box, "", "memory", "512m")
	w.oom(again, 128*mib)
	bomb, _ := w.run(box, "", "fork-bomb", "once")
	if e := bomb.Exit; e.Cause != forkbox.CausePids || e.Limit != 100 {
		t.Errorf("it ended so: %+v", *e)
	}
	w.must("rm", "-f", "crash")
	w.noBoxGroups(box)
}

// noBoxGroups finds no cgroup of a box that is gone.
func (w *limitWorld) noBoxGroups(box string) {
	w.Helper()
	w.until("no cgroup of the box is left", func() bool {
		for _, top := range w.groups() {
			if groupBelow(top, box) {
				return false
			}
		}
		return true
	})
}

// TestLimitsCrashMidSet kills the daemon right after limits were changed: they
// are what the answer said.
func TestLimitsCrashMidSet(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.needs(forkbox.Pids)
	box := w.create("set", "pids=200").ID
	beside := w.begin(box, "", "wait-for-ever")
	beside.hears("here")
	w.ok(w.set(box, "pids=60"))
	w.restart()
	if rule := w.box(box).Policy[forkbox.Pids]; rule.Value != 60 {
		t.Errorf("its rule is %+v", rule)
	}
	done, _ := w.run(box, "", "fork-bomb", "once")
	if e := done.Exit; e.Cause != forkbox.CausePids || e.Limit != 60 || e.Peak > 60+pidsSlack {
		t.Errorf("it ended so: %+v", *e)
	}
}

// TestStatsSeries keeps what was measured over a restart.
func TestStatsSeries(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box := w.create("series", "").ID
	w.begin(box, "", "cpu", "1").hears("spins")
	series := func() []forkbox.Stats {
		s, err := w.Stats(t.Context(), box, true)
		w.ok(err)
		return s.Series
	}
	w.until("something was measured", func() bool { return len(series()) > 0 })
	before := series()
	w.restart()
	after := series()
	if len(after) < len(before) || !after[0].Time.Equal(before[0].Time) {
		t.Errorf("after a restart %d of %d are left", len(after), len(before))
	}
	var one, all struct {
		Boxes []forkbox.BoxStats
		Box   string
		Now   forkbox.Stats
	}
	w.reads(&one, "stats", "series")
	w.reads(&all, "top")
	if one.Box != box || one.Now.Pids == 0 || one.Now.CPU == 0 || len(all.Boxes) != 1 || all.Boxes[0].Box != box {
		t.Errorf("stats and top tell %+v and %+v", one, all)
	}
}
