//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// TestFrozenBoxGoesOnAfterAKill kills the daemon while the processes of a busy
// box stand still because its files are being copied. The next daemon has them
// go on, and leaves no group behind that froze them.
func TestFrozenBoxGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	w := newSnapWorld(t, "overlay")
	box := w.create("box")
	w.sh("box", "mkdir many && cd many && seq 6000 | split -l 1 -a 4 - f")
	counter := "i=0; while :; do i=$((i+1)); echo $i >tick; sleep 0.01; done"
	_, err := w.ExecDetached(w.Context(), "box", api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"sh", "-c", counter}, Dir: w.root}})
	w.ok(err)
	w.until("it counts", func() bool { return w.tick() > 0 })
	frozen := 0
	for i := range 12 {
		done := make(chan error, 1)
		go func() {
			_, err := w.Snapshot(w.Context(), "box", forkbox.SnapshotSpec{Name: fmt.Sprint("s", i)})
			done <- err
		}()
		if w.waitFrozen(box.ID, done) {
			time.Sleep(time.Duration(i) * 10 * time.Millisecond) // ever later in the copy
		}
		w.kill()
		if w.noted(box.ID) {
			frozen++
		}
		w.serve()
		was := w.tick()
		w.until("it goes on", func() bool { return w.tick() > was })
		w.nothingFrozen(box.ID)
	}
	if frozen == 0 {
		t.Error("it was never killed while the box stood still")
	}
	t.Logf("killed %d times while the box stood still", frozen)
	_, err = w.Snapshot(w.Context(), "box", forkbox.SnapshotSpec{})
	w.ok(err)
	w.isWhole("box")
}

// tick is what the counter in the box has got to. It asks the box's files, not
// the box.
func (w *snapWorld) tick() int {
	w.Helper()
	for range 1000 { // it may be empty for a moment
		if n, err := strconv.Atoi(w.sh("box", "cat tick || :")); err == nil {
			return n
		}
	}
	return 0
}

// noted says whether the box stands still: by its cgroup or, where it has none,
// by the note of who stopped its processes.
func (w *snapWorld) noted(id string) bool {
	for _, file := range []string{"freezer.state", "cgroup.freeze"} {
		states, _ := filepath.Glob("/sys/fs/cgroup/*/forkbox-*/" + id + "-*/x/" + file)
		for _, state := range states {
			text, _ := os.ReadFile(state)
			if word := strings.TrimSpace(string(text)); word == "FROZEN" || word == "FREEZING" || word == "1" {
				return true
			}
		}
	}
	_, err := os.Lstat(filepath.Join(w.home, "boxes", id, "frozen"))
	return err == nil
}

// waitFrozen waits until the box stands still, or the snapshot is made.
func (w *snapWorld) waitFrozen(id string, done chan error) bool {
	for range 100_000 {
		if w.noted(id) {
			return true
		}
		select {
		case <-done:
			return false
		case <-time.After(100 * time.Microsecond):
		}
	}
	return false
}

func (w *snapWorld) nothingFrozen(id string) {
	w.Helper()
	if w.noted(id) {
		w.Errorf("the box stands still")
	}
}

// isWhole looks at the snapshots that there are: each has all the files.
func (w *snapWorld) isWhole(box string) {
	w.Helper()
	w.onlyNamedLayers("after the kills")
	list, err := w.Snapshots(w.Context(), box)
	w.ok(err)
	for _, s := range list {
		_, err := w.Fork(w.Context(), box+"@"+s.Name, forkbox.ForkSpec{Name: "look"})
		w.ok(err)
		if n := w.sh("look", "ls many | wc -l"); n != "6000" {
			w.Errorf("snapshot %s has %s files", s.Name, n)
		}
		w.ok(w.Remove(w.Context(), "look", true))
	}
	w.Logf("%d snapshots were made", len(list))
}
