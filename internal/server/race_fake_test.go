package server

import (
	"context"
	"sync"

	"github.com/forkbox/forkbox"
)

// fakeRaces has one race, r1, of any user who asks. It runs until it is
// cancelled or let go.
type fakeRaces struct {
	mu        sync.Mutex
	started   []forkbox.RaceSpec
	who       []forkbox.Owner
	applied   []forkbox.RaceApply
	removed   []bool
	events    []forkbox.RaceEvent // between the first and the last
	log       []forkbox.RaceLog
	asked     []string // approaches whose log was read
	failure   error    // what streams end with
	following int
	over      chan struct{}
	once      sync.Once
}

func newFakeRaces() *fakeRaces { return &fakeRaces{over: make(chan struct{})} }

func withRaces(f *fakeRaces) func(*Server) { return func(s *Server) { s.Races = f } }

func (f *fakeRaces) end() { f.once.Do(func() { close(f.over) }) }

func (f *fakeRaces) record() forkbox.Race {
	race := forkbox.Race{
		ID: "r1", Name: "fix", State: forkbox.RaceRunning,
		Spec:    forkbox.RaceSpec{Start: forkbox.RaceStart{Env: []string{"A=1"}}, Approaches: []forkbox.Approach{{Name: "dep", Steps: []forkbox.Command{{Run: "true"}}}}},
		Entries: []forkbox.Entry{{Name: "dep", Steps: []forkbox.Ran{{Name: "true"}}, Checks: []forkbox.Checked{{Name: "test", Runs: []forkbox.Ran{{Name: "test"}}}}}},
	}
	select {
	case <-f.over:
		race.State, race.Winner = forkbox.RaceFinished, "dep"
	default:
	}
	return race
}

func (f *fakeRaces) find(ref string) (forkbox.Race, error) {
	if ref != "r1" && ref != "fix" && ref != "" {
		return forkbox.Race{}, forkbox.Errorf(forkbox.NotFound, "find race "+ref, "there is none").Hint("see: forkbox race ls")
	}
	return f.record(), nil
}

func (f *fakeRaces) Start(_ context.Context, who forkbox.Owner, spec forkbox.RaceSpec) (forkbox.Race, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started, f.who = append(f.started, spec), append(f.who, who)
	return f.record(), nil
}

func (f *fakeRaces) List(context.Context, forkbox.Owner) ([]forkbox.Race, error) {
	return []forkbox.Race{f.record()}, nil
}

func (f *fakeRaces) Get(_ context.Context, _ forkbox.Owner, ref string) (forkbox.Race, error) {
	return f.find(ref)
}

func (f *fakeRaces) Follow(ctx context.Context, _ forkbox.Owner, ref string, yield func(forkbox.RaceEvent) error) error {
	race, err := f.find(ref)
	if err != nil {
		return err
	}
	events := append([]forkbox.RaceEvent{{Race: "r1", Kind: forkbox.RaceBegins, Record: &race}}, f.events...)
	for _, e := range events {
		if err := yield(e); err != nil {
			return err
		}
	}
	f.count(1)
	defer f.count(-1)
	select {
	case <-f.over:
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.failure != nil {
		return f.failure
	}
	race = f.record()
	return yield(forkbox.RaceEvent{Race: "r1", Kind: forkbox.RaceEnds, Record: &race})
}

func (f *fakeRaces) count(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.following += n
}

func (f *fakeRaces) followers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.following
}

func (f *fakeRaces) Cancel(ctx context.Context, _ forkbox.Owner, ref string) (forkbox.Race, error) {
	race, err := f.find(ref)
	if err != nil {
		return race, err
	}
	f.end()
	race.State = forkbox.RaceCancelled
	return race, ctx.Err()
}

func (f *fakeRaces) Remove(_ context.Context, _ forkbox.Owner, ref string, force bool) error {
	if _, err := f.find(ref); err != nil {
		return err
	}
	f.removed = append(f.removed, force)
	return nil
}

func (f *fakeRaces) Apply(_ context.Context, _ forkbox.Owner, ref string, spec forkbox.RaceApply) (forkbox.RaceLanding, error) {
	if _, err := f.find(ref); err != nil {
		return forkbox.RaceLanding{}, err
	}
	f.applied = append(f.applied, spec)
	return forkbox.RaceLanding{Approach: "dep", Receipt: forkbox.Receipt{ID: "c1"}}, nil
}

func (f *fakeRaces) Log(ctx context.Context, _ forkbox.Owner, ref, approach string, follow bool, yield func(forkbox.RaceLog) error) error {
	if _, err := f.find(ref); err != nil {
		return err
	}
	f.asked = append(f.asked, approach)
	for _, piece := range f.log {
		if err := yield(piece); err != nil {
			return err
		}
	}
	if follow {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.failure
}
