//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/describe"
)

// TestTTL ends a box when its time is up: its owner was told before,
// nothing can be run in it, its changes are kept, and with more time it goes on.
func TestTTL(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box := w.create("short", "ttl=4s").ID
	w.write(box, "kept")
	ticks := w.begin(box, "", "tick")
	w.happened(box, forkbox.EventTTLSoon)
	done, _ := ticks.ends()
	if e := done.Exit; e.Cause != forkbox.CauseTTL {
		t.Errorf("it ended so: %+v", *e)
	}
	w.over(box)
	w.must("extend", "short", "1h")
	if text := w.read(box); text != "kept" {
		t.Errorf("its file reads %q", text)
	}
	if n := w.count(box, forkbox.EventTTLSoon); n != 1 {
		t.Errorf("its owner was told %d times", n)
	}
	w.happened(box, forkbox.EventTTL, forkbox.EventExtended)
}

// over finds a box that is past its time.
func (w *limitWorld) over(box string) {
	w.Helper()
	w.until("the box is stopped", func() bool { return w.box(box).State == forkbox.Stopped })
	b := w.box(box)
	if b.Death == nil || b.Death.Cause != forkbox.CauseTTL {
		w.Errorf("its death is %+v", b.Death)
	}
	for words, verb := range map[string][]string{"past its time, ttl": {"ls"}, "time was up": {"show", b.Name}} {
		if text := w.must(verb...); !strings.Contains(text, words) {
			w.Errorf("%s does not say %q: %s", verb, words, text)
		}
	}
	_, err := w.tryBegin(box, forkbox.Wish{}, "true")
	w.fails(err, forkbox.Busy, "forkbox extend")
	_, err = w.Start(w.Context(), box)
	w.fails(err, forkbox.Busy, "forkbox extend")
}

func (w *limitWorld) count(box string, kind forkbox.EventKind) (n int) {
	w.Helper()
	for _, e := range w.events(box) {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func (w *limitWorld) write(box, text string) {
	w.Helper()
	task, err := w.tryBegin(box, forkbox.Wish{}, "sh", "-c", "printf %s '"+text+"' > note")
	w.ok(err)
	if done, out := task.ends(); done.Exit.Code != 0 {
		w.Fatalf("cannot write in %s: %s", box, out)
	}
}

func (w *limitWorld) read(box string) string {
	w.Helper()
	task, err := w.tryBegin(box, forkbox.Wish{}, "cat", "note")
	w.ok(err)
	_, out := task.ends()
	return out
}

// TestTTLSurvivesDaemon kills the daemon: the clock goes on.
func TestTTLSurvivesDaemon(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box := w.create("short", "ttl=6s").ID
	ticks := w.begin(box, "", "tick")
	ticks.hears("tick")
	ends := w.box(box).Ends
	w.restart()
	if now := w.box(box).Ends; now == nil || ends == nil || now.Since != ends.Since {
		t.Errorf("it was to end at %+v, now at %+v", ends, now)
	}
	if done, _ := ticks.ends(); done.Exit.Cause != forkbox.CauseTTL {
		t.Errorf("it ended so: %+v", *done.Exit)
	}
	w.over(box)
	if n := w.count(box, forkbox.EventTTLSoon); n != 1 {
		t.Errorf("its owner was told %d times", n)
	}
}

// TestTTLPassesUnseen has the time run out while there is no daemon.
func TestTTLPassesUnseen(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box := w.create("unseen", "ttl=1s").ID
	ends := w.box(box).Ends
	w.kill()
	w.until("its time is up", func() bool { return describe.UntilMoment(*ends) < 0 })
	w.serve()
	_, err := w.tryBegin(box, forkbox.Wish{}, "true")
	w.fails(err, forkbox.Busy, "forkbox extend")
}

// TestTTLFloor does not extend beyond what the host allows.
func TestTTLFloor(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm+"limits: {ttl: 2h}\n")
	box := w.create("floor", "ttl=1h").ID
	w.refused([]string{"2h"}, "extend", "floor", "3h")
	w.must("extend", "floor", "30m")
	if b := w.box(box); b.Ends == nil || b.Policy[forkbox.TTL].Value == forkbox.Unlimited {
		t.Errorf("it ends at %+v", b.Ends)
	}
	w.fails(w.set(box, "ttl=unlimited"), forkbox.Denied, "2h")
}

// TestIdleLimit stops a box in which nothing was run for a while, with what
// was left behind in it, and not one in which something runs.
func TestIdleLimit(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	busy := w.create("busy", "idle=1s").ID
	ticks := w.begin(busy, "", "tick")
	box := w.create("idle", "idle=1s").ID
	argv := append([]string{"sh", "-c", `"$@" >/dev/null 2>&1 &`, "sh"}, hogArgv(w.self, "ignore-term", mark(t))...)
	task, err := w.tryBegin(box, forkbox.Wish{}, argv...)
	w.ok(err)
	task.ends()
	w.until("it is stopped", func() bool { return w.box(box).State == forkbox.Stopped })
	w.happened(box, forkbox.EventIdle)
	w.until("nothing is left of it", func() bool { return len(processesWith(mark(t), w.self)) == 0 })
	w.does(box, "worker", "1") // it wakes again
	ticks.hears("tick")
	if b := w.box(busy); b.State != forkbox.Running {
		t.Errorf("the busy one is %s", b.State)
	}
}
