//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestThreeHundredSnapshots: a box can be saved after every change. It does
// not become slower to use, because its layers are merged, and every one of
// its states can be gone back to.
func TestThreeHundredSnapshots(t *testing.T) {
	t.Parallel()
	w := newSnapWorld(t, "overlay")
	w.create("box")
	const all = 300
	for i := range all {
		// Each state has a file more, and one file less than there would be.
		w.sh("box", fmt.Sprintf("echo %d >f%d; echo %d >last; rm -f f%d", i, i, i, i-3))
		_, err := w.Snapshot(w.Context(), "box", forkbox.SnapshotSpec{Name: fmt.Sprint("s", i)})
		w.ok(err)
	}
	w.until("the stack becomes short", func() bool {
		box, err := w.Box(w.Context(), "box")
		w.ok(err)
		return len(box.Layers) <= 17
	})
	w.isState("box", all-1)
	for _, i := range []int{0, all / 2, all - 1, 17, 16} {
		_, err := w.Rollback(w.Context(), "box", forkbox.RollbackSpec{To: fmt.Sprint("s", i)})
		w.ok(err)
		w.isState("box", i)
	}
	w.onlyNamedLayers("after all")
}

// isState compares a box, and what diff tells of it, with its nth state.
func (w *snapWorld) isState(box string, n int) {
	w.Helper()
	want := map[string]string{"last": fmt.Sprint(n)}
	for i := max(0, n-2); i <= n; i++ {
		want[fmt.Sprint("f", i)] = fmt.Sprint(i)
	}
	got := w.look(box)
	told := map[string]bool{}
	spec := forkbox.DiffSpec{Selection: forkbox.Selection{Paths: []string{w.root}, All: true}}
	_, err := w.Changes(w.Context(), box, spec, func(c forkbox.Change) error {
		told[filepath.Base(c.Path)] = c.Kind == forkbox.Added
		return nil
	})
	w.ok(err)
	if len(got) != len(want) || len(told) != len(want) {
		w.Fatalf("state %d is %v, and told are %v", n, got, told)
	}
	for name, text := range want {
		if strings.TrimSpace(got[name].Content) != text || !told[name] {
			w.Fatalf("state %d: %s is %s, told: %v", n, name, got[name], told[name])
		}
	}
}

// burden is what the daemon and its store weigh.
type burden struct{ layers, bytes, memory, files, tasks int64 }

func (b burden) String() string {
	return fmt.Sprintf("%d layers, %d KiB on disk, %d KiB of memory, %d open files, %d threads", b.layers, b.bytes>>10, b.memory, b.files, b.tasks)
}

func (w *snapWorld) burden() (b burden) {
	w.Helper()
	w.onlyNamedLayers("when it is weighed")
	b.layers = int64(len(w.layers()))
	u, err := w.Usage(w.Context())
	w.ok(err)
	b.bytes = u.Total
	proc := fmt.Sprintf("/proc/%d/", w.daemon.Process.Pid)
	fds, err := os.ReadDir(proc + "fd")
	w.ok(err)
	b.files = int64(len(fds))
	status, err := os.ReadFile(proc + "status")
	w.ok(err)
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if n, err := strconv.ParseInt(fields[min(1, len(fields)-1)], 10, 64); err == nil {
			switch fields[0] {
			case "VmRSS:":
				b.memory = n
			case "Threads:":
				b.tasks = n
			}
		}
	}
	return b
}

// TestThousandCyclesLeaveNothing: what is saved, forked and removed again and
// again leaves no layer, no bytes, no memory and no open file behind.
func TestThousandCyclesLeaveNothing(t *testing.T) {
	t.Parallel()
	w := newSnapWorld(t, "overlay")
	w.create("box")
	w.sh("box", "head -c 100000 /dev/zero >file")
	w.cycles(0, 200)
	then := w.burden()
	w.cycles(200, 1000)
	now := w.burden()
	t.Logf("after 200: %s; after 1000: %s", then, now)
	if now.layers > then.layers+20 || now.bytes > 2*then.bytes+4<<20 {
		t.Errorf("the store grows: %s, then %s", then, now)
	}
	if now.memory > 2*then.memory+50<<10 || now.files > then.files+20 || now.tasks > then.tasks+20 {
		t.Errorf("the daemon grows: %s, then %s", then, now)
	}
}

// cycles each have a snapshot, a fork and a rollback that are not needed later.
// Commands take long, so only some write anything.
func (w *snapWorld) cycles(from, to int) {
	w.Helper()
	for i := from; i < to; i++ {
		if i%20 == 0 {
			w.sh("box", fmt.Sprintf("head -c 10000 /dev/zero >file-%d; echo >>file", i%100))
		}
		s, err := w.Snapshot(w.Context(), "box", forkbox.SnapshotSpec{})
		w.ok(err)
		f, err := w.Fork(w.Context(), "box", forkbox.ForkSpec{Count: 2})
		w.ok(err)
		_, err = w.Rollback(w.Context(), "box", forkbox.RollbackSpec{To: s.Name})
		w.ok(err)
		for _, c := range f.Children {
			if c.Error != nil {
				w.Fatal(c.Error)
			}
			w.ok(w.Remove(w.Context(), c.Box.ID, false))
		}
		w.ok(w.RemoveSnapshot(w.Context(), "box@"+s.Name, false))
	}
}
