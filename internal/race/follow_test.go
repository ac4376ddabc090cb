package race

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestFollowersHearAll(t *testing.T) {
	w := newWorld(t, map[string]script{"test": exits(0)})
	door := make(chan struct{})
	w.host.opened["wait"] = door
	rec, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Name: "r", Approaches: approaches("a=wait;x"), Checks: checks("test")})
	check(t, err)
	var events []forkbox.RaceEvent
	opened := false
	check(t, w.Follow(context.Background(), ada, "r", func(e forkbox.RaceEvent) error {
		if events = append(events, e); !opened {
			opened = true
			close(door)
		}
		return nil
	}))
	first, last := events[0], events[len(events)-1]
	if first.Kind != forkbox.RaceBegins || first.Record.ID != rec.ID || last.Kind != forkbox.RaceEnds || last.Record.Winner != "a" {
		t.Errorf("%+v … %+v", first, last)
	}
	var phases []forkbox.Phase
	steps := 0
	for _, e := range events {
		if e.Kind == forkbox.RaceEntry {
			phases = append(phases, e.Entry.Phase)
			steps = max(steps, len(e.Entry.Steps))
		}
		if e.Race != rec.ID || e.Time.IsZero() {
			t.Errorf("%+v", e)
		}
	}
	if phases = slices.Compact(phases); !slices.Contains(phases, forkbox.PhaseChecking) || phases[len(phases)-1] != forkbox.PhaseDone || steps != 2 {
		t.Errorf("%v, %d steps", phases, steps)
	}
	// One that has ended tells all at once.
	var kinds []forkbox.RaceEventKind
	check(t, w.Follow(context.Background(), ada, "", func(e forkbox.RaceEvent) error { kinds = append(kinds, e.Kind); return nil }))
	if !slices.Equal(kinds, []forkbox.RaceEventKind{forkbox.RaceBegins, forkbox.RaceEnds}) {
		t.Error(kinds)
	}
}

// A follower that does not listen holds up no other, and hears of everything
// but what was said again since.
func TestSlowFollower(t *testing.T) {
	f := &follower{wake: make(chan struct{}, 1), latest: map[topic]int{}}
	entry := func(n int) forkbox.RaceEvent {
		return forkbox.RaceEvent{Kind: forkbox.RaceEntry, Approach: "a", Entry: &forkbox.Entry{Attempt: n}}
	}
	for i := range 100 {
		f.push(forkbox.RaceEvent{Kind: forkbox.RaceOutput, Approach: "a", CPU: float64(i)})
		f.push(forkbox.RaceEvent{Kind: forkbox.RaceUsage, Approach: "a", CPU: float64(i)})
		f.push(entry(i))
	}
	if got := f.take(); len(got) != 3+99 || got[0].CPU != 99 || got[1].CPU != 99 {
		t.Errorf("%d events, the first %+v", len(got), got[0])
	}
	for i := range 3 * mostQueued {
		f.push(entry(i))
		f.push(forkbox.RaceEvent{Kind: forkbox.RaceNote, Line: "note"})
	}
	if got := f.take(); len(got) != mostQueued || got[len(got)-2].Entry.Attempt != 3*mostQueued-1 {
		t.Errorf("%d events, the last %+v", len(got), got[len(got)-2])
	}
	// While one thing is done, as when metrics are taken, there is one.
	for i := range 100 {
		f.push(forkbox.RaceEvent{Kind: forkbox.RaceEntry, Approach: "a", Entry: &forkbox.Entry{Score: float64(i)}})
	}
	if got := f.take(); len(got) != 1 || got[0].Entry.Score != 99 {
		t.Errorf("%d events: %+v", len(got), got)
	}
}

func TestFollowersLeave(t *testing.T) {
	w := newWorld(t, nil)
	rec, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Approaches: approaches("a=hang")})
	check(t, err)
	enough := errors.New("enough")
	if err := w.Follow(context.Background(), ada, rec.ID, func(forkbox.RaceEvent) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := w.Follow(ctx, ada, rec.ID, func(forkbox.RaceEvent) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	live := w.running(rec.ID)
	live.mu.Lock()
	defer live.mu.Unlock()
	if live.followed() || live.watch != nil {
		t.Error("its output is still watched")
	}
}

// A daemon that ends says so to who follows.
func TestFollowersOfADaemonThatEnds(t *testing.T) {
	w := newWorld(t, nil)
	rec, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Approaches: approaches("a=hang")})
	check(t, err)
	first := true
	err = w.Follow(context.Background(), ada, rec.ID, func(forkbox.RaceEvent) error {
		if first {
			first = false
			go w.Races.Close(context.Background())
		}
		return nil
	})
	wantCode(t, err, forkbox.Unavailable)
	_, err = w.Start(context.Background(), ada, forkbox.RaceSpec{Approaches: approaches("a=hang")})
	wantCode(t, err, forkbox.Unavailable)
	// The box goes on, and the next daemon finds it.
	w.restart(nil)
	check(t, w.Resume(context.Background()))
	if now, err := w.Get(context.Background(), ada, rec.ID); err != nil || now.State != forkbox.RaceRunning || now.Resumed != 1 {
		t.Errorf("%+v, %v", now, err)
	}
	now, err := w.Cancel(context.Background(), ada, rec.ID)
	if err != nil || now.State != forkbox.RaceCancelled || len(w.host.faults) > 0 {
		t.Errorf("%s, %v, %v", summary(now), err, w.host.faults)
	}
}
