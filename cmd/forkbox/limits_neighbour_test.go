//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// TestBesideHogs runs each hog in a box with the fitting limit, next to a
// box with a fixed amount of work and next to a probe of the host. The work
// takes at most twice its time alone, and the host is refused nothing. It is
// the one figure about time that is asserted, so it is a ratio of medians,
// measured in turns, and the best of a dozen: other tests run at the same time.
// It is not called TestLimits…: on an emulated machine, where those run as well,
// it would say nothing.
func TestBesideHogs(t *testing.T) {
	w := newLimitWorld(t, calm)
	w.needs(forkbox.Memory, forkbox.Swap, forkbox.Pids, forkbox.CPUs)
	probe := w.probe()
	quiet := w.create("quiet", "").ID
	rounds := w.workload(quiet)
	for _, hog := range []struct {
		name, limits string
		argv         []string
	}{
		{"memory", "memory=64m swap=0", []string{"again", "memory", "512m"}},
		{"tmpfs", "memory=96m swap=0", []string{"again", "memory-tmpfs", "512m"}},
		{"cache", "memory=64m swap=0", []string{"again", "memory-cache", "96m"}},
		{"bomb", "pids=100", []string{"fork-bomb", "stubborn"}},
		{"cpu", "cpus=1", []string{"cpu", "8"}},
		{"flood", "output=1m", []string{"again", "output", "8m"}},
	} {
		t.Run(hog.name, func(t *testing.T) {
			w := w.as(t)
			box := w.create(hog.name, hog.limits).ID
			w.begin(box, "", hog.argv...)
			best := 0.0
			for try := range 12 {
				if ratio := w.slowdown(box, quiet, rounds); try == 0 || ratio < best {
					best = ratio
				}
				if best <= 2 {
					break
				}
			}
			t.Logf("beside it work takes %.2f × as long", best)
			if best > 2 {
				t.Errorf("beside it work takes %.2f × as long as alone", best)
			}
			w.ok(w.Remove(t.Context(), box, true))
		})
	}
	t.Logf("the host's probe: %+v", probe())
}

// workload is so much work that it can be measured, and no more, on fast and
// slow machines.
func (w *limitWorld) workload(box string) int {
	w.Helper()
	w.work(box, 1) // the box wakes
	once := w.work(box, 2) / 2
	return min(20, max(2, int(100*time.Millisecond/max(once, time.Millisecond))))
}

func (w *limitWorld) work(box string, rounds int) time.Duration {
	w.Helper()
	took, err := strconv.ParseInt(w.does(box, "worker", strconv.Itoa(rounds)), 10, 64)
	w.ok(err)
	return time.Duration(took)
}

// slowdown is how much longer work takes while the hog runs than while it is
// paused, in turns.
func (w *limitWorld) slowdown(hog, quiet string, rounds int) float64 {
	w.Helper()
	var alone, beside []time.Duration
	for range 5 {
		_, err := w.Pause(w.Context(), hog)
		w.ok(err)
		alone = append(alone, w.work(quiet, rounds))
		_, err = w.Resume(w.Context(), hog)
		w.ok(err)
		beside = append(beside, w.work(quiet, rounds))
	}
	slices.Sort(alone)
	slices.Sort(beside)
	return float64(beside[2]) / float64(alone[2])
}

// probe starts the host's own, and returns what ends it and tells what it saw.
func (w *limitWorld) probe() func() probed {
	w.Helper()
	argv := hogArgv(w.self, "probe", w.root)
	cmd := exec.Command(argv[0], argv[1:]...)
	var out bytes.Buffer
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	stop, err := cmd.StdinPipe()
	w.ok(err)
	w.ok(cmd.Start())
	w.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return func() (seen probed) {
		w.Helper()
		_, _ = io.WriteString(stop, "\n")
		if err := cmd.Wait(); err != nil {
			w.Fatalf("the host's probe was refused something: %v %s", err, said.String())
		}
		w.ok(json.Unmarshal(out.Bytes(), &seen))
		if seen.Rounds < 3 {
			w.Errorf("the host's probe got little done: %+v", seen)
		}
		return seen
	}
}

// TestBesideDiskHog fills a pool beside another box that works in it.
func TestBesideDiskHog(t *testing.T) {
	w := newPoolWorld(t, calm)
	quiet, hog := w.create("quiet", "disk=64m").ID, w.create("hog", "disk=64m").ID
	rounds := w.workload(quiet)
	probe := w.probe()
	w.begin(hog, "", "again", "disk-big", "512m")
	best := w.slowdown(hog, quiet, rounds)
	for range 2 {
		if best > 2 {
			best = min(best, w.slowdown(hog, quiet, rounds))
		}
	}
	t.Logf("beside it work takes %.2f × as long; the host's probe: %+v", best, probe())
	if best > 2 {
		t.Errorf("beside it work takes %.2f × as long as alone", best)
	}
}
