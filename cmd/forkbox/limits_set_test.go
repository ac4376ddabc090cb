//go:build linux

package main

import (
	"testing"

	"github.com/forkbox/forkbox"
)

// TestLimitsSetMemory raises the limit under a process that needs more, and
// cannot lower it below what is used.
func TestLimitsSetMemory(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.needs(forkbox.Memory, forkbox.Swap)
	box := w.create("grow", "memory=96m swap=0").ID
	hog := w.begin(box, "", "memory-steps")
	hog.says("40m")
	hog.hears("took 40m")
	w.ok(w.set(box, "memory=320m"))
	hog.says("120m")
	hog.hears("took 120m")

	w.fails(w.set(box, "memory=64m"), forkbox.Busy, "64m")
	if rule := w.box(box).Policy[forkbox.Memory]; rule.Value != 320*mib {
		t.Errorf("after a refusal the limit is %+v", rule)
	}
	hog.says("40m") // which would not fit in 64m
	hog.hears("took 40m")

	hog.says("400m")
	done, _ := hog.ends()
	w.oom(done, 320*mib)
	w.happened(box, forkbox.EventLimits, forkbox.EventOOM)
}

// TestLimitsSetPids narrows and lifts a limit while the box runs.
func TestLimitsSetPids(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.needs(forkbox.Pids)
	box := w.create("bomb", "").ID
	beside := w.begin(box, "", "wait-for-ever")
	beside.hears("here")
	w.ok(w.set(box, "pids=48"))
	done, _ := w.run(box, "", "fork-bomb", "once")
	if e := done.Exit; e.Cause != forkbox.CausePids || e.Limit != 48 {
		t.Errorf("it ended so: %+v", *e)
	}
	w.ok(w.set(box, "pids=unlimited"))
	if v, limited := w.box(box).Policy.Of(forkbox.Pids); limited {
		t.Errorf("a limit of %d stays", v)
	}
	w.does(box, "worker", "1")
}

// TestLimitsSetAtRest has a limit hold that was set while nothing ran.
func TestLimitsSetAtRest(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.needs(forkbox.Memory, forkbox.Swap)
	w.create("rest", "")
	w.must("set", "rest", "--memory", "64m", "--swap", "0", "--pids", "100")
	done, _ := w.run("rest", "", "memory", "256m")
	w.oom(done, 64*mib)
	box := w.box("rest")
	if box.Policy[forkbox.Memory].From != "box" || box.Policy[forkbox.Pids].Value != 100 {
		t.Errorf("its policy is %+v", box.Policy)
	}
}

// TestSetRefused refuses what cannot be set, and leaves all as it was.
func TestSetRefused(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm+"limits: {output: 1m, files: 512}\n")
	w.create("still", "files=100")
	w.fails(w.set("still", "files=200 output=2m"), forkbox.Denied, "1m")
	w.refused([]string{"512"}, "set", "still", "--files", "1000")
	w.refused([]string{"too little"}, "set", "still", "--files", "1")
	w.refused(nil, "set", "still")
	w.refused([]string{"nosuch"}, "set", "nosuch", "--files", "100")
	box := w.box("still")
	if box.Policy[forkbox.Files].Value != 100 || box.Policy[forkbox.Kept].Value != mib || box.Policy[forkbox.Kept].From != "host" {
		t.Errorf("its policy is %+v", box.Policy)
	}
}
