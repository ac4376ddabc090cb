package land

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// failsThenCrashes runs f, in which the marker that says "done" is written and
// cannot be made durable, and has it crash n steps later. It says whether it came
// to that.
func failsThenCrashes(n int, f func()) bool {
	markers, fsyncs, since := 0, 0, -1
	files.Step = func(name string) error {
		switch {
		case since >= 0:
			if since++; since == n {
				panic(crash{})
			}
		case name == "write marker":
			markers, fsyncs = markers+1, 0
		case name == "fsync":
			if fsyncs++; markers == 2 && fsyncs == 2 { // of the file; then of the directory
				since = 0
				return unix.EIO
			}
		}
		return nil
	}
	return crashes(f)
}

// TestPromise2CrashOnTheWayBack: a landing whose last step fails goes back. When
// a crash comes then, the marker does not say that it is done.
func TestPromise2CrashOnTheWayBack(t *testing.T) {
	dir := quickDir(t)
	for n := 1; ; n++ {
		w := fresh(t, dir, n)
		before := w.snap()
		reached := failsThenCrashes(n, func() {
			if err := w.tryLand(w.everything()); err == nil {
				t.Fatal("it did not fail")
			}
		})
		w.decided(fmt.Sprintf("crash %d steps after the failure", n), w.recover(), before)
		if !reached {
			t.Logf("%d steps", n-1)
			return
		}
	}
}

// TestPromise2UndoCrashesOnTheWayBack: the same for an undo.
func TestPromise2UndoCrashesOnTheWayBack(t *testing.T) {
	dir := quickDir(t)
	for n := 1; ; n++ {
		w := fresh(t, dir, n)
		before := w.snap()
		w.must(w.land(w.everything()...))
		after := w.snap()
		reached := failsThenCrashes(n, func() {
			if err := w.undo(); err == nil {
				t.Fatal("it did not fail")
			}
		})
		what := fmt.Sprintf("crash %d steps after the failure", n)
		switch o := w.recover(); o.State {
		case After:
			w.same(what, after)
			w.must(w.undo())
		case Undone:
		default:
			t.Fatal(what, o)
		}
		w.same(what, before)
		if !reached {
			t.Logf("%d steps", n-1)
			return
		}
	}
}
