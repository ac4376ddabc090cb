//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// TestLimitsForkBomb has a bomb meet the limit of its box, and a stubborn one
// end with it.
func TestLimitsForkBomb(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.needs(forkbox.Pids)
	box := w.create("bomb", "pids=64").ID
	done, out := w.run(box, "", "fork-bomb", "once")
	if e := done.Exit; e.Cause != forkbox.CausePids || e.Limit != 64 || e.Peak > 64+pidsSlack || e.Peak < 32 {
		t.Errorf("it ended so: %+v\n%s", *e, out)
	}

	box = w.create("stubborn", "pids=64").ID
	bomb := w.begin(box, "", "fork-bomb", "stubborn")
	w.until("the bomb is at its limit", func() bool {
		s, err := w.Stats(t.Context(), box, false)
		return err == nil && s.Now.PidsHits > 0 && s.Now.Pids > 32
	})
	s, err := w.Stats(t.Context(), box, false)
	w.ok(err)
	if s.Now.Pids > 64 {
		t.Errorf("it has %d processes", s.Now.Pids)
	}
	w.ok(w.Kill(t.Context(), box, bomb.Info().ID, 0))
	end, _ := bomb.ends()
	if e := end.Exit; e.Cause != forkbox.CauseStopped || !strings.HasPrefix(e.By, "user ") {
		t.Errorf("it was killed by a user, but ended so: %+v", *e)
	}
	w.until("nothing is left of the bomb", func() bool { return len(processesWith("stubborn", w.self)) == 0 })
	w.survives(box)
}

// pidsSlack is by how much a peak may be above the limit: some kernels count
// processes that they then refuse.
const pidsSlack = 8

// processesWith lists the host's processes of a program with an argument.
func processesWith(arg, program string) (found []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		raw, err := os.ReadFile(file)
		words := strings.Split(string(raw), "\x00")
		if err == nil && words[0] == program && strings.Contains("\x00"+string(raw), "\x00"+arg+"\x00") {
			found = append(found, file)
		}
	}
	return found
}

// TestPidsOfExec has an exec with fewer than its box.
func TestPidsOfExec(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.needs(forkbox.Pids)
	box := w.create("bomb", "pids=500").ID
	done, out := w.run(box, "pids=40", "fork-bomb", "once")
	if e := done.Exit; e.Cause != forkbox.CausePids || e.Limit != 40 || e.Peak > 40+pidsSlack {
		t.Errorf("it ended so: %+v\n%s", *e, out)
	}
}

// TestLimitsCPU has a spinner on more threads than there are processors use
// about what its box may, measured by the box's own account.
func TestLimitsCPU(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.needs(forkbox.CPUs)
	box := w.create("spin", "cpus=0.5").ID
	spin := w.begin(box, "", "cpu", "4")
	spin.hears("spins")
	if used := w.usage(box); used > 0.75 {
		t.Errorf("with half a processor it uses %.2f", used)
	}
	w.until("the kernel holds it back", func() bool {
		s, err := w.Stats(t.Context(), box, false)
		return err == nil && s.Now.Throttled > 0
	})
	w.ok(w.set(box, "cpus=0.2"))
	if used := w.usage(box); used > 0.3 {
		t.Errorf("with a fifth of a processor it uses %.2f", used)
	}
}

// usage is how many processors a box uses, over a while in which it got some
// work done.
func (w *limitWorld) usage(box string) (processors float64) {
	w.Helper()
	from, err := w.Stats(w.Context(), box, false)
	w.ok(err)
	to := from
	w.until("the box used 300 ms of processor time", func() bool {
		to, err = w.Stats(w.Context(), box, false)
		return err == nil && to.Now.CPU-from.Now.CPU > 300*time.Millisecond
	})
	return float64(to.Now.CPU-from.Now.CPU) / float64(to.Now.Time.Sub(from.Now.Time))
}

// TestOutputFlood floods: the caller gets all of it, the log what it may keep,
// and the rest is counted.
func TestOutputFlood(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box := w.create("flood", "output=64k").ID
	done, out := w.run(box, "", "output", "4m")
	if len(out) != 4*mib {
		t.Errorf("the caller got %d bytes", len(out))
	}
	if o := done.Output; o == nil || o.Cap != 64<<10 || o.Kept > o.Cap || o.Kept < o.Cap/2 || o.Kept+o.Dropped != 4*mib {
		t.Errorf("the output is counted so: %+v", done.Output)
	}
	logged, note, code := w.cli("logs", box, done.ID)
	if code != 0 || int64(len(logged)) != done.Output.Kept || !strings.Contains(note, "not kept") {
		t.Errorf("the log has %d bytes, and says %q", len(logged), note)
	}
	small, _ := w.run(box, "output=1k", "output", "64k")
	if o := small.Output; o == nil || o.Kept > 1<<10 || o.Cap != 1<<10 {
		t.Errorf("with 1k of its own: %+v", small.Output)
	}
}

// TestFileLeak leaks open files, until EMFILE.
func TestFileLeak(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box := w.create("leak", "files=100").ID
	for text, most := range map[string]int{"": 100, "files=32": 32} {
		done, out := w.run(box, text, "fd-leak")
		var opened int
		_, err := fmt.Sscanf(out, "opened %d", &opened)
		if err != nil || opened >= most || opened < most-20 || !strings.Contains(out, "EMFILE") || done.Exit.Code != 1 {
			t.Errorf("with %d files at most: %+v, %q", most, *done.Exit, out)
		}
	}
}
