package engine

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestAChangedBoxIsNotChanged by who saw it as it was before.
func TestAChangedBoxIsNotChanged(t *testing.T) {
	w := newWorld(t)
	b := w.create("one")
	seen, err := w.Keep(t.Context(), ada, "one", true)
	if err != nil {
		t.Fatal(err)
	}
	now, err := w.Box(t.Context(), ada, "one")
	if err != nil || now.Tag() != seen.Tag() || now.Tag() == b.Tag() {
		t.Fatalf("%v: tags %s, %s, %s", err, b.Tag(), seen.Tag(), now.Tag())
	}
	for _, tags := range [][]string{{b.Tag()}, {""}, {"W/" + now.Tag(), "x"}} {
		if err := w.Remove(WithMatch(t.Context(), tags), ada, "one", true); forkbox.CodeOf(err) != forkbox.Changed {
			t.Errorf("%q: %v", tags, err)
		}
	}
	for _, tags := range [][]string{{"x", now.Tag()}, {"*"}} {
		if _, err := w.Set(WithMatch(t.Context(), tags), ada, "one", forkbox.Wish{Priority: forkbox.LowPriority}); err != nil {
			t.Errorf("%q: %v", tags, err)
		}
	}
}

// TestOneOfManyWritersWins: all of them saw the same box.
func TestOneOfManyWritersWins(t *testing.T) {
	w := newWorld(t)
	b := w.create("one")
	ctx := WithMatch(t.Context(), []string{b.Tag()})
	var all sync.WaitGroup
	var won, lost atomic.Int32
	for range 10 {
		for _, write := range []func() error{
			func() error { _, err := w.Keep(ctx, ada, "one", true); return err },
			func() error {
				_, err := w.Set(ctx, ada, "one", forkbox.Wish{Priority: forkbox.LowPriority})
				return err
			},
		} {
			all.Go(func() {
				switch err := write(); {
				case err == nil:
					won.Add(1)
				case forkbox.CodeOf(err) == forkbox.Changed:
					lost.Add(1)
				default:
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	after, err := w.Box(t.Context(), ada, "one")
	if won.Load() != 1 || lost.Load() != 19 || err != nil || after.Kept == (after.Priority == forkbox.LowPriority) {
		t.Errorf("%d won, %d lost: %v, kept %v, priority %q", won.Load(), lost.Load(), err, after.Kept, after.Priority)
	}
}
