//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// TestListingProcessesAfterASnapshot: a snapshot brings an idle box to rest.
// A user who looks at that moment sees that nothing runs, and not an error.
func TestListingProcessesAfterASnapshot(t *testing.T) {
	t.Parallel()
	w := newSnapWorld(t, "")
	w.create("box")
	for i := range 20 {
		w.sh("box", fmt.Sprint("echo >", i))
		_, err := w.Snapshot(w.Context(), "box", forkbox.SnapshotSpec{})
		w.ok(err)
		ps, err := w.Processes(w.Context(), "box")
		w.ok(err)
		if len(ps) > 1 {
			t.Errorf("processes run: %v", ps)
		}
	}
}

// TestLogsOutliveSnapshots: what commands wrote can be read for as long as
// their box lives, whatever becomes of its files.
func TestLogsOutliveSnapshots(t *testing.T) {
	t.Parallel()
	w := newSnapWorld(t, "")
	w.create("box")
	for i := range 6 {
		w.sh("box", fmt.Sprintf("echo said %d; echo >file-%d", i+1, i))
		_, err := w.Snapshot(w.Context(), "box", forkbox.SnapshotSpec{Name: fmt.Sprint("s", i)})
		w.ok(err)
	}
	w.restart()        // which takes down boxes that are kept ready, of other layers
	for i := range 6 { // in quick succession, so that boxes are kept ready
		_, err := w.Rollback(w.Context(), "box", forkbox.RollbackSpec{To: "s2"})
		w.ok(err)
		w.sh("box", fmt.Sprintf("echo said %d", i+7))
		w.awaitSpare()
	}
	for i := range 12 {
		var said strings.Builder
		err := w.Logs(w.Context(), "box", fmt.Sprint(i+1), false, func(r forkbox.LogRecord) error {
			said.Write(r.Data)
			return nil
		})
		if want := fmt.Sprintf("said %d\n", i+1); err != nil || said.String() != want {
			t.Errorf("exec %d said %q, %v", i+1, said.String(), err)
		}
	}
}

// awaitSpare waits for the box that is kept ready when boxes are started in
// quick succession. That there is none in time is no failure.
func (w *snapWorld) awaitSpare() {
	for range 100 { // there may be none
		if found, _ := filepath.Glob(filepath.Join(w.home, "boxes", "spare-*", "init.sock")); len(found) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // until it answers
}
