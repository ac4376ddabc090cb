package daemon

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// smallHeap is how much garbage the daemon lets lie, in percent of what is
	// in use: its heap is small, and collecting it often is what would cost.
	smallHeap = 400
	// mostGarbage is where that ends. A large operation has a large heap, of
	// which four times as much again is not there for the taking.
	mostGarbage = 48 << 20
	// largeHeap is the least, in percent: below that collecting never ends.
	largeHeap = 40
)

// tuneHeap has the collector adapt to the size of the heap, after each cycle.
func tuneHeap() {
	percent := smallHeap
	debug.SetGCPercent(percent)
	now := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	afterCollecting(func() {
		metrics.Read(now)
		if want := garbageFor(now[0].Value.Uint64()); want != percent { // setting it stops the world
			percent = want
			debug.SetGCPercent(percent)
		}
	})
}

// garbageFor is how much garbage may lie beside what is in use, in percent.
func garbageFor(live uint64) int {
	return min(smallHeap, max(largeHeap, int(mostGarbage*100/max(live, 1))))
}

// cycle is something that the collector finds unused each time. It is not so
// small that it would share its memory with something else.
type cycle struct{ do func() }

// afterCollecting calls do after each cycle of the collector.
func afterCollecting(do func()) {
	runtime.SetFinalizer(&cycle{do}, func(c *cycle) {
		c.do()
		afterCollecting(c.do)
	})
}
