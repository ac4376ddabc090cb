//go:build linux

package main

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Where something was mounted after the fork, a box's change is not of what is
// there now.
func TestPromise4NothingLandsInWhatWasMountedSince(t *testing.T) {
	if !rooted() {
		return // only root mounts, here as in reality
	}
	w := newLandWorld(t)
	w.sh("mkdir src d; echo 1 >src/f; echo 2 >d/f; echo 3 >g; echo 4 >h; echo 5 >i")
	box := w.fork("mounted")
	w.inSh(box, "echo B >>d/f; echo B >d/n; echo B >>g; echo B >>i")
	w.fb("stop", box)
	for from, to := range map[string]string{"src": "d", "h": "g"} {
		w.ok(unix.Mount(w.ws+"/"+from, w.ws+"/"+to, "", unix.MS_BIND, ""))
		t.Cleanup(func() { unix.Unmount(w.ws+"/"+to, unix.MNT_DETACH) })
	}
	for _, how := range []string{"", "theirs"} {
		w.refused(forkbox.Conflict, applyArgs(box, how)...)
	}
	w.apply(box, "i")
	wantText(t, "landed", w.files(), "d/f=1, g=4, h=4, i=5,B, src/f=1,")
	for _, to := range []string{"d", "g"} {
		w.ok(unix.Unmount(w.ws+"/"+to, unix.MNT_DETACH))
	}
	w.apply(box)
	wantText(t, "unmounted", w.files(), "d/f=2,B, d/n=B, g=3,B, h=4, i=5,B, src/f=1,")
}
