package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/shelf"
)

// interruption is something that a daemon is killed at, and what there was
// before. What they do is named "one", "kid"….
type interruption struct {
	before func(w *layeredWorld)
	deed   func(w *layeredWorld) // ignores errors: a dead daemon returns nothing else
	// several says that it consists of parts, each of which may have happened.
	several bool
}

var everyday = context.Background()

// lived is a box with a snapshot and something written since.
func lived(w *layeredWorld) {
	w.create("one")
	w.write("one", "a")
	w.save("one", "s1")
	w.write("one", "b")
}

// withKids has forks of it.
func withKids(w *layeredWorld) {
	lived(w)
	_, err := w.Fork(everyday, ada, "one@s1", forkbox.ForkSpec{Name: "kid", Count: 2})
	check(w.t, err)
	w.write("kid-1", "k")
	w.save("kid-1", "ks")
	_, err = w.CreateTemplate(everyday, ada, forkbox.TemplateSpec{Name: "t", From: "one@s1"})
	check(w.t, err)
}

// stacked is about to have too many layers.
func stacked(w *layeredWorld) {
	w.create("one")
	for i := range shelf.MaxStack {
		w.write("one", fmt.Sprint(i))
		w.save("one", fmt.Sprint("s", i))
	}
	w.write("one", "last")
}

func (w *layeredWorld) save(box, name string) {
	w.t.Helper()
	_, err := w.Snapshot(everyday, ada, box, forkbox.SnapshotSpec{Name: name})
	check(w.t, err)
}

var interruptions = map[string]interruption{
	"snapshot": {lived, func(w *layeredWorld) { w.Snapshot(everyday, ada, "one", forkbox.SnapshotSpec{Name: "s2"}) }, false},
	"snapshot of a busy box": {func(w *layeredWorld) { lived(w); w.exec("one") }, func(w *layeredWorld) {
		w.Snapshot(everyday, ada, "one", forkbox.SnapshotSpec{Name: "s2"})
	}, false},
	"snapshot that fails": {func(w *layeredWorld) { lived(w); w.host.fail("shelve", errors.New("disk full")) }, func(w *layeredWorld) {
		w.Snapshot(everyday, ada, "one", forkbox.SnapshotSpec{Name: "s2"})
	}, false},
	"rollback": {lived, func(w *layeredWorld) { w.Rollback(everyday, ada, "one", forkbox.RollbackSpec{To: "s1"}) }, false},
	"rollback of a busy box": {func(w *layeredWorld) { lived(w); w.exec("one") }, func(w *layeredWorld) {
		w.Rollback(everyday, ada, "one", forkbox.RollbackSpec{To: "s1", Force: true})
	}, false},
	"rollback that fails": {func(w *layeredWorld) { lived(w); w.host.fail("shelve", errors.New("disk full")) }, func(w *layeredWorld) {
		w.Rollback(everyday, ada, "one", forkbox.RollbackSpec{To: "s1"})
	}, false},
	"rollback of a blank box": {func(w *layeredWorld) { lived(w); w.save("one", "s2") }, func(w *layeredWorld) {
		w.Rollback(everyday, ada, "one", forkbox.RollbackSpec{To: "s1"})
	}, false},
	"fork":               {lived, func(w *layeredWorld) { w.Fork(everyday, ada, "one", forkbox.ForkSpec{Name: "kid", Count: 2}) }, true},
	"fork of a snapshot": {lived, func(w *layeredWorld) { w.Fork(everyday, ada, "one@s1", forkbox.ForkSpec{Name: "kid", Count: 2}) }, true},
	"exec in a fork": {withKids, func(w *layeredWorld) {
		w.Exec(everyday, ada, "kid-2", command("true"), forkbox.Stdio{})
	}, false},
	"rm snapshot": {func(w *layeredWorld) { lived(w); w.save("one", "s2") }, func(w *layeredWorld) {
		w.RemoveSnapshot(everyday, ada, "one@s1", false)
	}, false},
	"squash":          {withKids, func(w *layeredWorld) { w.RemoveSnapshot(everyday, ada, "one@s1", true) }, false},
	"rm":              {withKids, func(w *layeredWorld) { w.Remove(everyday, ada, "one", true) }, false},
	"rm of a fork":    {withKids, func(w *layeredWorld) { w.Remove(everyday, ada, "kid-1", true) }, false},
	"template create": {lived, func(w *layeredWorld) { w.CreateTemplate(everyday, ada, forkbox.TemplateSpec{Name: "t", From: "one"}) }, true},
	"template new":    {withKids, func(w *layeredWorld) { w.Create(everyday, ada, CreateSpec{Name: "of-t", Template: "t"}) }, false},
	"template rm":     {withKids, func(w *layeredWorld) { w.RemoveTemplate(everyday, ada, "t") }, false},
	"flatten":         {stacked, func(w *layeredWorld) { w.Snapshot(everyday, ada, "one", forkbox.SnapshotSpec{Name: "deep"}) }, false},
	"flatten while it runs": {stacked, func(w *layeredWorld) {
		w.Snapshot(everyday, ada, "one", forkbox.SnapshotSpec{Name: "deep"})
		w.Exec(everyday, ada, "one", command("true"), forkbox.Stdio{})
		w.Stop(everyday, ada, "one", nil)
		w.Rollback(everyday, ada, "one", forkbox.RollbackSpec{To: "s3"})
	}, true},
}

// TestPromise6LayersAgreeWhenKilledAtAnyStep kills the daemon at every step of
// whatever is done with snapshots, right before the step has its effect and
// right after. The next daemon finds that it happened or did not; whatever the
// ledger names is there, and nothing else is.
func TestPromise6LayersAgreeWhenKilledAtAnyStep(t *testing.T) {
	for name, in := range interruptions {
		for _, stacks := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stacks=%v", name, stacks), func(t *testing.T) {
				t.Parallel()
				w := newLayeredWorld(t, stacks)
				before, after := in.whole(w)
				steps := 0
				for _, last := range []bool{false, true} {
					for at, blown := 1, true; blown; at++ {
						blown = in.broken(w, &fuse{at: at, after: last})
						steps++
						if err := w.halves(before, after, in.several); err != nil {
							t.Fatalf("killed at step %d (after it: %v): %v", at, last, err)
						}
					}
				}
				t.Logf("killed %d times", steps-2)
			})
		}
	}
}

// whole is what there is before and after, when no daemon is killed and nothing
// fails: a later daemon may finish what failed.
func (in interruption) whole(w *layeredWorld) (before, after map[string]string) {
	w.t.Helper()
	in.before(w)
	w.settle()
	before, err := w.shown()
	check(w.t, err)
	w.host.fail("shelve", nil)
	in.deed(w)
	w.settle()
	after, err = w.shown()
	check(w.t, err)
	if extra := w.extra(); len(extra) > 0 {
		w.t.Errorf("nothing needs %q, and they stay", extra)
	}
	return before, after
}

// broken is the same with a daemon that is killed, and another after it.
func (in interruption) broken(w *layeredWorld, f *fuse) (blown bool) {
	w.t.Helper()
	w.reset()
	in.before(w)
	w.settle()
	w.restart(f)
	in.deed(w)
	w.settle()
	blown = f.isBlown()
	w.host.fail("shelve", nil)
	w.restart(&fuse{})
	w.settle()
	return blown
}

// halves says what is neither as it was before nor as it is after: of
// everything together, or of each by itself when several things are done.
func (w *layeredWorld) halves(before, after map[string]string, several bool) error {
	if err := w.disagreement(); err != nil {
		return err
	}
	now, err := w.shown()
	if err != nil {
		return err
	}
	if extra := w.extra(); len(extra) > 0 {
		return fmt.Errorf("nothing needs %q, and they stay", extra)
	}
	if !several && !maps.Equal(now, before) && !maps.Equal(now, after) {
		return fmt.Errorf("there is %q; before it was %q, after %q", now, before, after)
	}
	for name, words := range now {
		was, had := before[name]
		becomes, has := after[name]
		if !(had && words == was) && !(has && words == becomes) {
			return fmt.Errorf("%s shows %q; before %q (%v), after %q (%v)", name, words, was, had, becomes, has)
		}
	}
	for name := range before {
		_, stays := after[name]
		if _, there := now[name]; stays && !there {
			return fmt.Errorf("%s is gone", name)
		}
	}
	return nil
}
