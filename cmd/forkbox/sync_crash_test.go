//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// everyStep has the daemon die before each of the changes that a sync makes to
// files, not only before some of them.
const everyStep = "SYNC_DIES"

// TestASyncThatIsKilledLeavesNothing kills the daemon before the nth change that a
// sync makes, in a box in which something runs and in one in which nothing does.
// The next daemon has the box be as it was, or as it is when all is done; the
// next sync leaves it as if nothing had happened.
func TestASyncThatIsKilledLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	each := 11
	if os.Getenv(everyStep) != "" {
		each = 1
	}
	for nth, died := 0, true; died; nth += each {
		died = w.dieInSync(fmt.Sprint("box", nth), nth, nth/each%2 == 0)
	}
}

const syncedBox = "merges: 1 box 3 4 5 6 reality\nconflicts: <<<<<<< box box ======= reality >>>>>>> reality\nd: 711\n"

// dieInSync says whether the daemon died: it does not when there are no so many
// changes.
func (w *landWorld) dieInSync(box string, nth int, busy bool) bool {
	w.Helper()
	sh := func(script string) string { return w.in(box, "sh", "-c", script) }
	w.reset()
	w.fork(box)
	sh("sed -i s/2/box/ merges; echo box >conflicts; echo new >d/new")
	w.ok(os.WriteFile(filepath.Join(w.ws, "merges"), []byte("1\n2\n3\n4\n5\n6\nreality\n"), 0o644))
	w.ok(os.WriteFile(filepath.Join(w.ws, "conflicts"), []byte("reality\n"), 0o644))
	w.ok(os.Chmod(filepath.Join(w.ws, "d"), 0o711))
	const look = `for f in merges conflicts; do echo $f: $(cat $f); done; echo d: $(stat -c %a d)`
	before := sh(look)
	if busy {
		w.fb("exec", "-d", box, "--", "sleep", "600")
	}
	w.ok(os.WriteFile(dieAt(w.home), []byte(strconv.Itoa(nth)), 0o644))
	pid := w.daemonPID()
	_ = w.command("sync", box).Run()
	w.ok(os.RemoveAll(dieAt(w.home)))
	if diff := w.fb("diff", "--all", box); strings.Contains(diff, ".forkbox-") {
		w.Errorf("dead at %d: the box has changes of the sync: %s", nth, diff)
	}
	died := w.daemonPID() != pid
	if !died { // it still counts down
		w.kill()
	}
	if got := sh(look); got != before && got != syncedBox {
		w.Errorf("dead at %d: the box is neither as it was nor as it is then:\n%s", nth, got)
	}
	w.noTraceOfSync(box, nth)
	if out, err := w.command("sync", box).CombinedOutput(); err == nil || !strings.Contains(string(out), "1 conflict to resolve") {
		w.Errorf("dead at %d: the next sync: %v: %s", nth, err, out)
	}
	if got := sh(look); got != syncedBox {
		w.Errorf("dead at %d: the next sync leaves\n%s, not\n%s", nth, got, syncedBox)
	}
	w.noTraceOfSync(box, nth)
	if busy && !strings.Contains(w.fb("ps", box), "sleep") {
		w.Errorf("dead at %d: what ran in the box is gone", nth)
	}
	w.fb("rm", "-f", box)
	return died
}

// reset has reality be as at the beginning.
func (w *landWorld) reset() {
	w.Helper()
	for name, text := range map[string]string{"merges": "1\n2\n3\n4\n5\n6\n7\n", "conflicts": "base\n", "d/f": "base\n"} {
		w.ok(os.MkdirAll(filepath.Join(w.ws, filepath.Dir(name)), 0o755))
		w.ok(os.WriteFile(filepath.Join(w.ws, name), []byte(text), 0o644))
	}
	w.ok(os.Chmod(filepath.Join(w.ws, "d"), 0o755))
}

func (w *landWorld) noTraceOfSync(box string, nth int) {
	w.Helper()
	if got := w.in(box, "sh", "-c", "find / -xdev -maxdepth 3 -name '.forkbox-sync*' 2>/dev/null; true"); got != "" {
		w.Errorf("dead at %d: in the box there is %s", nth, got)
	}
	if left, _ := filepath.Glob(filepath.Join(w.home, "receipts", "sync-*")); len(left) > 0 {
		w.Errorf("dead at %d: there is %q", nth, left)
	}
}

func (w *landWorld) daemonPID() int {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.home, "daemon.pid"))
	w.ok(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	w.ok(err)
	return pid
}
