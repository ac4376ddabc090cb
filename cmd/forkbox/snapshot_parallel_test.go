//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// TestRelatedBoxesInParallel has many callers save, fork, roll back, use and
// remove boxes that have layers in common, all at once. None of them waits for
// ever, and in the end every box has the file that the first one had.
func TestRelatedBoxesInParallel(t *testing.T) {
	t.Parallel()
	w := newSnapWorld(t, "overlay")
	w.create("first")
	w.sh("first", "echo mine >origin")
	_, err := w.Snapshot(w.Context(), "first", forkbox.SnapshotSpec{Name: "begin"})
	w.ok(err)
	ctx, cancel := context.WithTimeout(w.Context(), 2*time.Minute)
	defer cancel()
	var work sync.WaitGroup
	for n := range 6 {
		work.Go(func() {
			c := &crowd{w, ctx, rand.New(rand.NewPCG(uint64(n), 5)), n, 0}
			for range snapSteps(25) {
				c.act()
			}
		})
	}
	work.Wait()
	if ctx.Err() != nil {
		t.Fatalf("it takes for ever\n%s", w.log())
	}
	w.restart()
	w.onlyNamedLayers("in the end")
	w.allHaveOrigin()
}

// crowd is one of many callers.
type crowd struct {
	*snapWorld
	ctx context.Context
	rng *rand.Rand
	id  int
	n   int
}

// act does something to any box. It may be refused, because another of the crowd
// was quicker, but nothing may break.
func (c *crowd) act() {
	boxes, err := c.Boxes(c.ctx)
	if c.allowed("list", err); len(boxes) == 0 {
		return
	}
	c.n++
	box, name := boxes[c.rng.IntN(len(boxes))].Name, fmt.Sprintf("b-%d-%d", c.id, c.n)
	switch c.rng.IntN(9) {
	case 0, 1:
		_, err = c.Snapshot(c.ctx, box, forkbox.SnapshotSpec{})
	case 2:
		_, err = c.Rollback(c.ctx, box, forkbox.RollbackSpec{Force: true})
	case 3:
		if len(boxes) < 12 {
			_, err = c.Fork(c.ctx, box, forkbox.ForkSpec{Name: name, Count: 1 + c.rng.IntN(2)})
		}
	case 4:
		if box != "first" {
			err = c.Remove(c.ctx, box, true)
		}
	case 5:
		err = c.RemoveSnapshot(c.ctx, box+"@1", c.rng.IntN(2) == 0)
	case 6:
		_, err = c.CreateTemplate(c.ctx, forkbox.TemplateSpec{Name: name, From: box})
		_, newErr := c.Create(c.ctx, api.CreateRequest{Name: name + "-t", Template: name})
		c.allowed("use a template", newErr)
		c.allowed("remove a template", c.RemoveTemplate(c.ctx, name))
	default:
		var out string
		out, err = c.tryRun(box, nil, "sh", "-c", "cat origin && echo >>busy-"+name)
		if err == nil && strings.TrimSpace(out) != "mine" {
			c.Errorf("%s has lost its file: %q", box, out)
		}
		if err != nil && strings.Contains(err.Error(), "it failed") {
			err = nil // it was ended
		}
	}
	c.allowed("act", err)
}

// allowed: a box can be gone, or busy with what another of the crowd does to it,
// or stopped while it is used.
func (c *crowd) allowed(what string, err error) {
	switch forkbox.CodeOf(err) {
	case forkbox.NotFound, forkbox.Busy, forkbox.Exists:
		return
	}
	if err != nil && !strings.Contains(err.Error(), "the box has ended") && !strings.Contains(err.Error(), "stopp") {
		c.Errorf("%s: %v", what, err)
	}
}

func (w *snapWorld) allHaveOrigin() {
	w.Helper()
	f, err := w.Family(w.Context())
	w.ok(err)
	names := map[string]string{}
	for _, b := range f.Boxes {
		names[b.ID] = b.Name
		if text := w.sh(b.Name, "cat origin"); text != "mine" {
			w.Errorf("%s has lost its file: %q", b.Name, text)
		}
	}
	for _, s := range f.Snapshots {
		_, err := w.Fork(w.Context(), names[s.Box]+"@"+s.Name, forkbox.ForkSpec{Name: "look"})
		w.ok(err)
		if text := w.sh("look", "cat origin"); text != "mine" {
			w.Errorf("%s@%s has lost its file: %q", names[s.Box], s.Name, text)
		}
		w.ok(w.Remove(w.Context(), "look", true))
	}
	w.Logf("%d boxes, %d snapshots", len(f.Boxes), len(f.Snapshots))
}
