package engine

import (
	"context"
	"testing"

	"github.com/forkbox/forkbox"
)

// A box is what a snapshot of it is as long as no process writes to it, whatever
// else it is saved as.
func TestStillIs(t *testing.T) {
	for _, stacks := range []bool{true, false} {
		w := newLayeredWorld(t, stacks)
		box := w.create("one")
		w.write("one", "a")
		s, err := w.Snapshot(context.Background(), ada, "one", forkbox.SnapshotSpec{Name: "judged"})
		check(t, err)
		back := func() {
			_, err := w.Rollback(context.Background(), ada, "one", forkbox.RollbackSpec{To: s.ID})
			check(t, err)
		}
		want := func(want bool, when string) {
			t.Helper()
			if same, err := w.StillIs(context.Background(), ada, "one", s.ID); err != nil || same != want {
				t.Errorf("stacks %v, %s: %v, %v", stacks, when, same, err)
			}
		}
		back()
		want(true, "rolled back")
		w.write("one", "b")
		want(false, "written to")
		_, err = w.Snapshot(context.Background(), ada, "one", forkbox.SnapshotSpec{Name: "other"})
		check(t, err)
		want(false, "saved as something else")
		back()
		_, err = w.Snapshot(context.Background(), ada, "one", forkbox.SnapshotSpec{Name: "same"})
		check(t, err)
		want(true, "saved once more")
		x := w.exec("one")
		_, err = w.StillIs(context.Background(), ada, "one", s.ID)
		wantCode(t, err, forkbox.Busy)
		w.host.mu.Lock()
		m := w.host.instances[box.ID]
		w.host.mu.Unlock()
		m.exit(x.ID, forkbox.Exit{Cause: forkbox.CauseExited})
		w.wait(x)
		back()
		// A sync moves the fence: what was judged was in another reality.
		now, err := w.ledger.Box(context.Background(), box.ID)
		check(t, err)
		now.Base.Fence = now.Base.Fence.Add(1)
		check(t, w.ledger.UpdateBox(context.Background(), now))
		want(false, "synced")
		back()
		check(t, w.RemoveSnapshot(context.Background(), ada, "one@"+s.ID, false))
		want(false, "its snapshot is gone")
	}
}
