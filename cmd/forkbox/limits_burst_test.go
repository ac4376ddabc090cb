//go:build linux

package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
)

// These are not called TestLimits…: an emulated machine, where those run as
// well, takes minutes for them.

// TestManyBoxesAtOnce asks for 500 boxes at once: each is made, or clearly refused
// where there is a quota, and the daemon answers afterwards as before.
func TestManyBoxesAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		most   int
	}{"without a quota": {"", 500}, "with a quota": {"users: {\"*\": {quota: {boxes: 450}}}\n", 450}} {
		t.Run(name, func(t *testing.T) {
			w := newLimitWorld(t, calm+c.config)
			made, refused := w.burst(500, "may have 450")
			boxes, err := w.Boxes(t.Context())
			w.ok(err)
			if made != c.most || refused != 500-c.most || len(boxes) != made {
				t.Errorf("%d were made, %d refused, and there are %d", made, refused, len(boxes))
			}
			w.does(boxes[0].ID, "worker", "1")
		})
	}
}

// burst makes so many boxes at once, and counts those that were made and those
// that were refused with these words.
func (w *limitWorld) burst(n int, words string) (made, refused int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			_, err := w.tryCreate(fmt.Sprint("burst-", i), waits(0, "", ""))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made++
			// Who does not wait and comes while others are being looked at hears that.
			case forkbox.CodeOf(err) == forkbox.Busy && (strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "others wait before it")):
				refused++
			default:
				w.Errorf("box %d: %v", i, err)
			}
		})
	}
	all.Wait()
	return made, refused
}

// TestManyRunsAtOnce types `forkbox run` sixty times at once, where eight
// boxes may run: each gets its turn, or is refused with the figure.
func TestManyRunsAtOnce(t *testing.T) {
	w := newLimitWorld(t, "admission: {running: 8, wait: 1m, pressure: {memory: 100, io: 100}}\n")
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			out, said, code := w.cli("run", "--discard", "-q", "--", "echo", "done")
			if code == 0 && out == "done\n" || code != 0 && strings.Contains(said, "8 boxes run") {
				return
			}
			t.Errorf("run %d: exit %d, %q, %q", i, code, out, said)
		})
	}
	all.Wait()
	boxes, err := w.Boxes(t.Context())
	if err != nil || len(boxes) != 0 {
		t.Errorf("%d boxes are left: %v", len(boxes), err)
	}
	if queue, err := w.Queue(t.Context()); err != nil || len(queue) != 0 {
		t.Errorf("somebody still waits: %+v, %v", queue, err)
	}
}
