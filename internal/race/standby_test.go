package race

import (
	"context"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// A box that stands by is stopped when another approach waits for room, and only
// then. What follows is fair to all of them.
func TestBoxesMakeRoom(t *testing.T) {
	for _, short := range []bool{false, true} {
		w := newWorld(t, map[string]script{"number": prints("1")})
		w.host.services = true
		w.host.held = map[string]chan struct{}{"b": make(chan struct{})}
		rec, err := w.Start(context.Background(), ada, forkbox.RaceSpec{
			Approaches: approaches("a=x", "b=x"), Metrics: []forkbox.Metric{metric("number", forkbox.Extract{})},
		})
		check(t, err)
		live := w.running(rec.ID)
		eventually(t, "a stands by", func() bool { return entryOf(t, live.record(), "a").Outcome != "" })
		if short {
			w.host.wait([]forkbox.Waiting{{Place: 1, What: "create box"}})
			eventually(t, "a rests", func() bool { return !w.host.runs("a") })
			w.host.wait(nil)
		}
		close(w.host.held["b"])
		rec = w.ended(rec.ID)
		noted := strings.Contains(strings.Join(rec.Notes, "\n"), "had room")
		if noted != short || len(rec.Entries[0].Metrics[0].Values) != 1 || rec.State != forkbox.RaceFinished {
			t.Errorf("short of room: %v, notes %q\n%s", short, rec.Notes, summary(rec))
		}
	}
}

func (h *host) wait(list []forkbox.Waiting) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = list
}
