//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestLimitsDisk fills the disk of a box in every way there is. The program that
// writes is told, the record says why it failed, and the box beside it has its own.
func TestLimitsDisk(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(w *limitWorld) {
		beside := w.create("beside", "disk=48m").ID
		for _, hog := range [][]string{{"disk-big", "256m"}, {"disk-fall", "256m"}, {"disk-many", "100000"}} {
			box := w.create(hog[0], "disk=48m").ID
			done, out := w.run(box, "", hog...)
			w.full(done, out, 48*mib)
			w.happened(box, forkbox.EventDisk)
			w.does(beside, "disk-big", "16m")
			w.must("rm", "-f", hog[0])
		}
		// What was deleted is given back with the end of who held it: then there
		// is no limit any more to blame.
		done, out := w.run(beside, "", "disk-deleted", "256m")
		if done.Exit.Code != 1 {
			w.Errorf("it ended so: %+v", *done.Exit)
		}
		w.refusedDisk(out)
		w.does(beside, "disk-sparse", "10g") // holes are nothing
	})
}

// full finds that an exec failed for want of disk.
func (w *limitWorld) full(done forkbox.Exec, out string, limit int64) {
	w.Helper()
	e := done.Exit
	if e.Cause != forkbox.CauseDisk || e.Limit != limit || e.Peak < limit*9/10 || e.Peak > limit*11/10 {
		w.Errorf("%q was to fail at %d of disk, but: %+v\n%s", done.Argv[2:], limit, *e, out)
	}
	w.refusedDisk(out)
}

// refusedDisk finds that the program that wrote was told so.
func (w *limitWorld) refusedDisk(out string) {
	w.Helper()
	if !strings.Contains(out, "EDQUOT") && !strings.Contains(out, "ENOSPC") {
		w.Errorf("it was told %q", out)
	}
}

// TestLimitsDiskSet gives a full box more while it runs, and takes it back.
func TestLimitsDiskSet(t *testing.T) {
	t.Parallel()
	eitherDisk(t, func(w *limitWorld) {
		box := w.create("grows", "disk=32m").ID
		done, out := w.run(box, "", "disk-big", "64m")
		w.full(done, out, 32*mib)
		w.ok(w.set(box, "disk=128m"))
		w.does(box, "disk-big", "64m")
		w.restart() // the next daemon holds it to the same
		done, out = w.run(box, "", "disk-big", "512m")
		w.full(done, out, 128*mib)
		w.ok(w.set(box, "disk=unlimited"))
		w.does(box, "disk-big", "160m")
	})
}

// TestLimitsDiskOfSnapshots counts what a box saved as its own.
func TestLimitsDiskOfSnapshots(t *testing.T) {
	t.Parallel()
	eitherDisk(t, func(w *limitWorld) {
		box := w.create("saves", "disk=64m").ID
		w.does(box, "disk-big", "40m")
		w.must("snapshot", "saves", "one")
		done, out := w.run(box, "", "disk-fall", "256m")
		w.full(done, out, 64*mib)
		var more int64
		if _, err := fmt.Sscanf(out, "set aside %d", &more); err != nil || more > 32*mib {
			w.Errorf("with 40m saved and 64m at most it %s", out)
		}
	})
}

// TestLimitsInodes limits the number of files where the host can.
func TestLimitsInodes(t *testing.T) {
	t.Parallel()
	eitherDisk(t, func(w *limitWorld) {
		if how, _ := w.how(forkbox.Inodes); how != forkbox.Enforced {
			_, err := w.tryCreate("files", forkbox.Wish{Limits: limits(w.T, "inodes=500")})
			w.fails(err, forkbox.Unsupported, "best-effort")
			return
		}
		box := w.create("files", "inodes=500").ID
		done, out := w.run(box, "", "disk-many", "2000")
		if e := done.Exit; e.Cause != forkbox.CauseDisk || e.Limit != 500 {
			w.Errorf("it ended so: %+v\n%s", *e, out)
		}
	})
}

// TestPool makes, grows and removes a pool, and loses nothing.
func TestPool(t *testing.T) {
	t.Parallel()
	onPool(t, func(w *limitWorld) {
		box := w.create("kept", "").ID
		w.write(box, "kept")
		w.refused([]string{"the store has boxes: kept"}, "store", "rm")
		w.must("store", "grow", "--size", "1500m")
		w.restart()
		if text := w.read(box); text != "kept" {
			w.Errorf("its file reads %q", text)
		}
		if now, err := w.Store(w.Context()); err != nil || now.Pool == nil || now.Pool.Size < 1500*mib {
			w.Errorf("it was to grow: %+v, %v", now.Pool, err)
		}
		w.must("rm", "-f", "kept")
		w.must("store", "rm")
		w.next()
		if now, err := w.Store(w.Context()); err != nil || now.Pool != nil {
			w.Errorf("it was to go: %+v, %v", now.Pool, err)
		}
	})
}
