//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestLimitsMemory has each kind of memory meet the limit of its box.
func TestLimitsMemory(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.needs(forkbox.Memory, forkbox.Swap)
	for _, hog := range []string{"memory", "memory-tmpfs"} {
		box := w.create(hog, "memory=64m swap=0").ID
		done, out := w.run(box, "", hog, "512m")
		if strings.Contains(out, "has it all") {
			t.Errorf("%s: it got what it wanted", hog)
		}
		w.oom(done, 64*mib)
		w.ok(w.set(box, "memory=160m")) // what lies in tmpfs stays when its writer dies
		w.survives(box)
	}
}

// oom finds that an exec was killed for memory, with the figures.
func (w *limitWorld) oom(done forkbox.Exec, limit int64) {
	w.Helper()
	e := done.Exit
	if e.Cause != forkbox.CauseOOM || e.Code != 137 || e.By != "kernel" || e.Limit != limit {
		w.Errorf("it was to be killed at %d of memory, but: %+v\n%s", limit, *e, w.log())
	}
	if e.Peak < limit/2 || e.Peak > limit+limit/64 { // what was asked for last may be counted
		w.Errorf("the peak is %d with a limit of %d", e.Peak, limit)
	}
}

// survives finds that a box goes on: only what hogged was killed.
func (w *limitWorld) survives(box string) {
	w.Helper()
	b := w.box(box)
	if b.State != forkbox.Running || b.Death != nil {
		w.Errorf("box %s is %s, death %+v: it was to go on", b.Name, b.State, b.Death)
	}
	w.does(box, "worker", "1")
}

// TestLimitsMemoryCache reads and writes more than the limit through the page
// cache: that is given back, and no reason to be killed.
func TestLimitsMemoryCache(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.needs(forkbox.Memory, forkbox.Swap)
	box := w.create("cache", "memory=64m swap=0").ID
	w.does(box, "memory-cache", "128m")
	s, err := w.Stats(t.Context(), box, false)
	w.ok(err)
	if s.Now.MemoryPeak > 65*mib || s.Now.OOMKills != 0 {
		t.Errorf("it used %d at most, and was killed %d times", s.Now.MemoryPeak, s.Now.OOMKills)
	}
}

// TestLimitsMemoryOfExec has an exec with less than its box, which goes on.
func TestLimitsMemoryOfExec(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.needs(forkbox.Memory, forkbox.Swap)
	box := w.create("small", "memory=512m swap=0").ID
	beside := w.begin(box, "", "memory-steps")
	beside.hears("ready")
	done, _ := w.run(box, "memory=64m", "memory", "256m")
	w.oom(done, 64*mib)
	if rule := done.Policy[forkbox.Memory]; rule.Value != 64*mib || rule.From != "exec" {
		t.Errorf("its policy is %+v", done.Policy)
	}
	beside.says("128m") // more than the other had
	beside.hears("took 128m")
	beside.in.Close()
	if end, _ := beside.ends(); end.Exit.Cause != forkbox.CauseExited || end.Exit.Code != 0 {
		t.Errorf("its neighbour in the box ended so: %+v", *end.Exit)
	}
}

// TestLimitsMemoryOfChild kills what a command waits for: the command's own
// end says why it failed.
func TestLimitsMemoryOfChild(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.needs(forkbox.Memory, forkbox.Swap)
	box := w.create("child", "memory=64m swap=0").ID
	argv := append([]string{"sh", "-c", `"$@"; exit 7`, "sh"}, hogArgv(w.self, "memory", "256m")...)
	task, err := w.tryBegin(box, forkbox.Wish{}, argv...)
	w.ok(err)
	done, _ := task.ends()
	if e := done.Exit; e.Cause != forkbox.CauseOOM || e.Code != 7 || e.Limit != 64*mib {
		t.Errorf("it ended so: %+v", *e)
	}
}
