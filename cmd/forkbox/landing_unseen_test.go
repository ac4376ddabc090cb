//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// In a directory that a box made it shows only what is its own. What reality
// puts there, once it has landed, is not overwritten by who never saw it, also
// not after a sync that could not show it.
func TestPromise4WhatABoxNeverSawIsNotOverwritten(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	box := w.fork("blind")
	w.inSh(box, "mkdir n; echo 1 >n/a")
	w.apply(box)
	w.inSh(box, "true")
	w.fb("exec", "-d", box, "--", "sleep", "600")
	w.sh("echo REAL >n/x")
	out, err := w.command("sync", box).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "n/x") || strings.Contains(string(out), "up to date") {
		t.Errorf("sync: %v\n%s", err, out)
	}
	w.inSh(box, "echo BOX >n/x")
	refused := w.refused(forkbox.Conflict, "apply", "--yes", box)
	if len(refused.Items) != 1 || !strings.HasSuffix(refused.Items[0].Path, "n/x") {
		t.Errorf("n/x is not named: %v", refused.Items)
	}
	wantText(t, "refused", w.files(), "n/a=1, n/x=REAL,")
	w.inSh(box, "rm n/x")
	w.fb("stop", box)
	w.fb("sync", box)
	w.inSh(box, "echo BOX >>n/x")
	w.apply(box)
	wantText(t, "landed", w.files(), "n/a=1, n/x=REAL,BOX,")
}
