//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestModesOfDirectories: a box that writes a file has a copy of each directory
// that the file lies in. A mode that reality changes after that is reality's: it
// is no change of the box, lands nowhere, conflicts with nothing, and a sync
// takes it. One that both changed is a conflict.
func TestModesOfDirectories(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.sh("mkdir -p d/s e; chmod 755 . d d/s e; echo 1 >d/s/f; echo 1 >e/f")
	box := w.forkSeen("one")
	w.inSh(box, "echo 2 >>d/s/f; echo 2 >>e/f; chmod 711 e; echo new >g")
	w.sh("chmod 700 d; chmod 1770 d/s; chmod 750 .")
	if got := w.fb("diff", box); strings.Contains(got, " d/") && strings.Contains(got, "mode") {
		t.Errorf("the box changed no mode but that of e:\n%s", got)
	}
	w.apply(box)
	modes := func() string { return w.shOut("stat -c %a . d d/s e | tr '\\n' ' '") }
	if got := modes(); got != "750 700 1770 711 " {
		t.Errorf("modes are %s", got)
	}

	// A sync brings what reality has into the box, and then that is the base.
	w.sh("chmod 755 d/s")
	w.fb("sync", box)
	if got := w.inSh(box, "stat -c %a . d d/s e | tr '\\n' ' '"); got != "750 700 755 711 " {
		t.Errorf("in the box modes are %s", got)
	}
	w.inSh(box, "echo 3 >>d/s/f")
	w.apply(box)
	if got := modes(); got != "750 700 755 711 " {
		t.Errorf("after the sync modes are %s", got)
	}

	other := w.forkSeen("two")
	w.inSh(other, "chmod 710 d")
	w.sh("chmod 701 d")
	if _, refused := w.applied("apply", "--yes", other); refused == nil || refused.Code != forkbox.Conflict {
		t.Errorf("both changed a mode: %v", refused)
	}
}

// TestPromise4APartDoesNotHideAMode: a part of a box lands in a directory whose
// mode reality changed. Where it is not known what the mode was, the rest is
// refused as it was before.
func TestPromise4APartDoesNotHideAMode(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.sh("mkdir d; chmod 755 d")
	box := w.forkSeen("one")
	w.inSh(box, "echo 1 >d/one; echo 2 >d/two")
	w.sh("chmod 700 d")
	seen, err := filepath.Glob(filepath.Join(w.home, "boxes", "*", "base", "book", "seen-*"))
	w.ok(err)
	for _, name := range seen {
		w.ok(os.Remove(name))
	}
	w.apply(box, filepath.Join(w.ws, "d/one"))
	if _, refused := w.applied("apply", "--yes", box); refused == nil || refused.Code != forkbox.Conflict {
		t.Errorf("landed, and the mode is %s", w.shOut("stat -c %a d"))
	}
}

// forkSeen makes a box, and returns when the workspace was looked at for it.
func (w *landWorld) forkSeen(name string) string {
	w.Helper()
	seen := func() int {
		list, err := filepath.Glob(filepath.Join(w.home, "boxes", "*", "base", "book", "seen-*"))
		w.ok(err)
		return len(list)
	}
	before := seen()
	box := w.fork(name)
	w.until("the workspace was looked at", func() bool { return seen() > before })
	return box
}
