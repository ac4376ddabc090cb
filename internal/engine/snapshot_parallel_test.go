package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// TestRelatedBoxesInParallel has many callers do things to boxes that have
// layers in common. None waits for ever, and in the end the ledger and the
// layers agree. It is most use with the race detector.
func TestRelatedBoxesInParallel(t *testing.T) {
	for _, stacks := range []bool{true, false} {
		t.Run(fmt.Sprint("stacks=", stacks), func(t *testing.T) {
			t.Parallel()
			w := newLayeredWorld(t, stacks)
			w.create("first")
			w.write("first", "origin")
			w.save("first", "begin")
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			var work sync.WaitGroup
			for n := range 8 {
				work.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(n), 6))
					for i := range 30 {
						w.any(ctx, rng, fmt.Sprintf("b-%d-%d", n, i))
					}
				})
			}
			work.Wait()
			if ctx.Err() != nil {
				t.Fatal("it takes for ever")
			}
			w.settle()
			w.restart(&fuse{})
			w.settle()
			check(t, w.disagreement())
			w.allBeginWith("origin")
		})
	}
}

// any does something to any box, and ignores that it may be refused.
func (w *layeredWorld) any(ctx context.Context, rng *rand.Rand, name string) {
	boxes, err := w.Boxes(ctx, ada)
	if err != nil || len(boxes) == 0 {
		return
	}
	ref := boxes[rng.IntN(len(boxes))].Name
	switch rng.IntN(9) {
	case 0:
		w.Snapshot(ctx, ada, ref, forkbox.SnapshotSpec{})
	case 1:
		w.Rollback(ctx, ada, ref, forkbox.RollbackSpec{Force: true})
	case 2:
		w.Fork(ctx, ada, ref, forkbox.ForkSpec{Name: name})
	case 3:
		if ref != "first" && len(boxes) > 6 {
			w.Remove(ctx, ada, ref, true)
		}
	case 4:
		w.RemoveSnapshot(ctx, ada, ref+"@1", rng.IntN(2) == 0)
	case 5:
		w.CreateTemplate(ctx, ada, forkbox.TemplateSpec{Name: name, From: ref})
		w.Create(ctx, ada, CreateSpec{Name: name + "-t", Template: name})
		w.RemoveTemplate(ctx, ada, name)
	case 6:
		w.Processes(ctx, ada, ref)
		w.Family(ctx, ada)
	default:
		w.scribble(ctx, ref, name)
	}
}

// scribble writes in a box while its command runs, if it is not stopped before.
func (w *layeredWorld) scribble(ctx context.Context, ref, word string) {
	x, err := w.Exec(ctx, ada, ref, command("write"), forkbox.Stdio{})
	if err != nil {
		return
	}
	w.host.mu.Lock()
	m := w.host.instances[x.Box]
	if m != nil && m.running[x.ID] {
		w.shelf.tops[x.Box] = append(append([]string{}, w.shelf.tops[x.Box]...), word)
	}
	w.host.mu.Unlock()
	if m != nil {
		m.exit(x.ID, forkbox.Exit{Cause: forkbox.CauseExited})
	}
}

func (w *layeredWorld) allBeginWith(word string) {
	w.t.Helper()
	all, err := w.shown()
	check(w.t, err)
	for name, words := range all {
		if !strings.HasPrefix(words, word) {
			w.t.Errorf("%s shows %q", name, words)
		}
	}
	if extra := w.extra(); len(extra) > 0 {
		w.t.Errorf("nothing needs %q, and they stay", extra)
	}
	w.t.Logf("%d boxes, snapshots and templates", len(all))
}
