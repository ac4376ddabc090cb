//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestMemoryDoesNotGrowWithTheChanges has the verbs go through many changed
// files, in a daemon of its own, and looks at the most memory that it ever had.
// What is held of each file shows: it once was 3 KB for a patch.
func TestMemoryDoesNotGrowWithTheChanges(t *testing.T) {
	t.Parallel()
	const files, most = 20000, 120 << 20 // some 70 as a rule; what is garbage and not yet collected varies
	w := newLandWorld(t)
	box := w.fork("box")
	start := w.peak()
	w.in(box, "sh", "-c", fmt.Sprintf("for d in $(seq %d); do mkdir d$d; for f in $(seq 1000); do echo $f > d$d/some-file-$f; done; done", files/1000))
	grown := func(what string, _ ...string) {
		t.Helper()
		grown := w.peak() - start
		t.Logf("%-24s %3d MB more than at the start", what, grown>>20)
		if grown > most {
			t.Errorf("%s: %d MB for %d files; at most %d", what, grown>>20, files, most>>20)
		}
	}
	grown("diff with a patch", w.fb("diff", "-p", box))
	grown("snapshot", w.fb("snapshot", box))
	grown("apply", w.apply(box))
	grown("diff of what landed", w.fb("diff", "--all", box))
	grown("sync of what landed", w.fb("sync", box))
	grown("undo", w.fb("undo", "--yes"))
	grown("diff of what was undone", w.fb("diff", box))
}

// TestMemoryDoesNotGrowWithWhatIsMerged has a sync merge more than the daemon may
// hold. What the next merges start from is kept only when all of it is through.
func TestMemoryDoesNotGrowWithWhatIsMerged(t *testing.T) {
	t.Parallel()
	const files, most = 900, 110 << 20
	w := newLandWorld(t)
	w.sh(fmt.Sprintf("seq 20000 >lines; for f in $(seq %d); do cp lines f$f; done", files))
	box := w.fork("box")
	w.in(box, "sh", "-c", "sed -i s/^1$/box/ f*")
	w.sh("sed -i s/^20000$/reality/ f*")
	start := w.peak()
	said, err := w.command("sync", "--json", box).Output()
	var result forkbox.SyncResult
	w.ok(json.Unmarshal(said, &result))
	if count := result.Count; count.Merged+count.Conflicts != files {
		t.Fatalf("%v: %+v", err, count)
	}
	if grown := w.peak() - start; grown > most {
		t.Errorf("%d MB for %d files of 100 KB; at most %d", grown>>20, files, most>>20)
	}
}

// peak is the most memory that the daemon has had so far, in bytes.
func (w *landWorld) peak() int {
	w.Helper()
	return w.daemonPeak() << 10
}
