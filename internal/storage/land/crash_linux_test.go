package land

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// crash is what a step panics with to end everything right there.
type crash struct{}

// atStep has the n-th step from now on do something. It tells, when it is
// stopped, whether that step was reached.
func atStep(n int, do func(name string) error) (stop func() bool) {
	count := 0
	files.Step = func(name string) error {
		count++
		if count == n {
			return do(name)
		}
		return nil
	}
	return func() bool {
		files.Step = func(string) error { return nil }
		return count >= n
	}
}

// crashAt runs f and has it crash at step n, and says whether it came to that.
func crashAt(n int, f func()) bool {
	atStep(n, func(string) error { panic(crash{}) })
	return crashes(f)
}

// crashes runs f, says whether a step ended it, and has steps do nothing then.
func crashes(f func()) (crashed bool) {
	defer func() {
		files.Step = func(string) error { return nil }
		if r := recover(); r != nil {
			if _, ours := r.(crash); !ours {
				panic(r)
			}
			crashed = true
		}
	}()
	f()
	return false
}

// fresh makes the same tree again, n-th of its kind.
func fresh(t *testing.T, dir string, n int) *world {
	w := newWorld(t, filepath.Join(dir, fmt.Sprint(n)))
	w.furnish()
	t.Cleanup(func() { wipe(filepath.Dir(w.root)) })
	return w
}

func (w *world) recover() Outcome {
	w.Helper()
	o, err := Recover(w.Context(), w.cfg())
	if err != nil {
		names, _ := filepath.Glob(w.cfg().Dir + "/*")
		w.Log("in the landing's directory: ", names)
	}
	w.must(err)
	return o
}

// TestPromise2FailureAtEveryStep: whatever call fails, nothing has happened.
func TestPromise2FailureAtEveryStep(t *testing.T) {
	dir := quickDir(t)
	for n := 1; ; n++ {
		w := fresh(t, dir, n)
		before := w.snap()
		var failed string
		stop := atStep(n, func(name string) error {
			failed = name
			return []error{unix.EIO, unix.ENOSPC, unix.EACCES}[n%3]
		})
		err := w.tryLand(w.everything())
		if !stop() {
			t.Logf("%d steps", n-1)
			return
		}
		what := fmt.Sprintf("step %d (%s) failed: %v", n, failed, err)
		if err == nil {
			// It can do without: a clone, or tidying after it was done.
			if o := w.recover(); o.State != After {
				t.Fatal(what, o)
			}
			w.must(w.undo())
			w.same(what, before)
			continue
		}
		if o := w.recover(); o.State != Before {
			t.Fatal(what, o)
		}
		w.same(what, before)
		w.noTrace(what)
	}
}

// tryLand is land, but for failures in it that are wanted.
func (w *world) tryLand(items []Item) error {
	w.landings++
	l, err := Begin(w.Context(), w.cfg())
	if err != nil {
		return err
	}
	defer l.site.close() // a real crash closes what is open
	for _, it := range items {
		if _, err := l.Stage(w.Context(), it); err != nil {
			_ = l.Abort()
			return err
		}
	}
	return l.Commit(w.Context())
}

// TestPromise2CrashAtEveryStep: after a crash at any step, and another one in
// the recovery, the tree is as before or as after, and nothing leaks.
func TestPromise2CrashAtEveryStep(t *testing.T) {
	dir := quickDir(t)
	states := map[State]int{}
	for n := 1; ; n++ {
		w := fresh(t, dir, n)
		before := w.snap()
		if !crashAt(n, func() { w.must(w.tryLand(w.everything())) }) {
			t.Logf("%d steps: %v", n-1, states)
			break
		}
		// The recovery crashes as well, a bit later each time, until it does not.
		for again := n%7 + 1; crashAt(again, func() { w.recover() }); again += 7 {
		}
		o := w.recover()
		states[o.State]++
		w.decided(fmt.Sprintf("crash at step %d", n), o, before)
	}
	if states[Before] == 0 || states[After] == 0 || len(states) != 2 {
		t.Error(states)
	}
}

// decided checks a tree after a recovery.
func (w *world) decided(what string, o Outcome, before map[string]string) {
	w.Helper()
	if o.State == Before {
		w.same(what, before)
		w.noTrace(what)
		return
	}
	if o.State != After {
		w.Fatal(what, o)
	}
	if got := w.read("/add/swapped/one"); got != "edited in a moved directory" {
		w.Fatalf("%s: said to have landed, and has %q", what, got)
	}
	if left, _ := filepath.Glob(w.root + "/.forkbox*"); left != nil {
		w.Fatalf("%s: %v is left in the tree", what, left)
	}
	w.must(w.undo())
	w.same(what+", undone", before)
}

// TestPromise2UndoFailsAtEveryStep: an undo that fails has not happened.
func TestPromise2UndoFailsAtEveryStep(t *testing.T) {
	dir := quickDir(t)
	for n := 1; ; n++ {
		w := fresh(t, dir, n)
		before := w.snap()
		w.must(w.land(w.everything()...))
		after := w.snap()
		var failed string
		stop := atStep(n, func(name string) error { failed = name; return unix.EIO })
		err := w.undo()
		if !stop() {
			t.Logf("%d steps", n-1)
			return
		}
		what := fmt.Sprintf("step %d (%s) failed: %v", n, failed, err)
		if o := w.recover(); err == nil && o.State == Undone {
			w.same(what, before)
			continue
		} else if o.State != After {
			t.Fatal(what, o)
		}
		w.same(what, after)
		w.must(w.undo())
		w.same(what+", then undone", before)
	}
}

// TestPromise2UndoCrashesAtEveryStep: one that crashes neither, or it has.
func TestPromise2UndoCrashesAtEveryStep(t *testing.T) {
	dir := quickDir(t)
	states := map[State]int{}
	for n := 1; ; n++ {
		w := fresh(t, dir, n)
		before := w.snap()
		w.must(w.land(w.everything()...))
		after := w.snap()
		if !crashAt(n, func() { w.must(w.undo()) }) {
			t.Logf("%d steps: %v", n-1, states)
			break
		}
		for again := n%7 + 1; crashAt(again, func() { w.recover() }); again += 7 {
		}
		what := fmt.Sprintf("crash at step %d of undo", n)
		o := w.recover()
		states[o.State]++
		switch o.State {
		case After:
			w.same(what, after)
			w.must(w.undo())
		case Undone:
		default:
			t.Fatal(what, o)
		}
		w.same(what, before)
		w.must(Expire(t.Context(), w.cfg()))
		if kept, _ := filepath.Glob(w.cfg().Dir + "/kept-*"); kept != nil {
			t.Fatal(what, kept)
		}
	}
	if states[Undone] == 0 || states[After] == 0 || len(states) != 2 {
		t.Error(states)
	}
}

// TestCrashWithoutKeep: where nothing is kept, nothing stays.
func TestCrashWithoutKeep(t *testing.T) {
	dir := quickDir(t)
	for n := 1; ; n++ {
		w := fresh(t, dir, n)
		before := w.snap()
		cfg := w.cfg()
		cfg.Keep = false
		reached := crashAt(n, func() {
			l, err := Begin(t.Context(), cfg)
			w.must(err)
			defer l.site.close()
			for _, it := range w.everything() {
				_, err := l.Stage(t.Context(), it)
				w.must(err)
			}
			w.must(l.Commit(t.Context()))
		})
		w.recover()
		w.noTrace(fmt.Sprint("step ", n))
		if w.read("/edit") == "new" {
			w.goneFromTree()
		} else {
			w.same(fmt.Sprint("step ", n), before)
		}
		if !reached {
			return
		}
	}
}

func (w *world) goneFromTree() {
	w.Helper()
	if left, _ := filepath.Glob(w.root + "/.forkbox*"); left != nil {
		w.Fatalf("%v is left in the tree", left)
	}
	if _, err := os.Lstat(w.at("/gone")); err == nil {
		w.Fatal("half of it landed")
	}
}
