package land

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

func openFiles(t *testing.T) int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// TestPromise6NothingStaysOpen: whatever becomes of a landing, it closes what
// it opened.
func TestPromise6NothingStaysOpen(t *testing.T) {
	dir := quickDir(t)
	var owners []*forkbox.Owner
	if owners = append(owners, nil); os.Geteuid() == 0 {
		owners = append(owners, &forkbox.Owner{UID: 12345, GID: 12345})
	}
	for n, owner := range owners {
		w := fresh(t, dir, n)
		w.must(os.Chmod(w.root, 0o777))
		w.owner = owner
		w.must(w.landLight())
		before := openFiles(t)
		w.must(w.landLight())
		w.must(w.undo())
		w.recover()
		w.must(Expire(t.Context(), w.cfg()))
		w.must(Entries(w.cfg().Dir, func(Entry) error { return nil }))
		w.must(stageAll(w, []Item{w.put("/z", "aborted")}).Abort())
		wantCode(t, w.land(Item{Path: "/none/x", Op: Put, Node: w.node(0o644)}), forkbox.Conflict)
		for i := 1; i < 60; i += 7 {
			stop := atStep(i, func(string) error { return unix.EIO })
			_ = w.tryLand([]Item{w.putDir("/y", 0o755), w.put("/y/a", "fails")})
			stop()
			w.recover()
		}
		if after := openFiles(t); after != before {
			t.Errorf("%d files are open, not %d", after, before)
		}
	}
}

// landLight lands something that any owner may.
func (w *world) landLight() error {
	w.landings += 100
	name := "/x" + w.cfg().Dir[len(w.store)+1:]
	return w.land(w.putDir(name, 0o755), w.put(name+"/a", "x"), w.putLink(name+"/b", "x"))
}
