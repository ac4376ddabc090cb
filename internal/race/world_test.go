package race

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/ledger"
)

var ada = forkbox.Owner{UID: 1000, GID: 1000, Name: "ada", Home: "/home/ada"}

// world is a host with boxes, a real ledger, and the races that are in charge.
type world struct {
	*Races
	t      *testing.T
	host   *host
	ledger forkbox.Ledger
}

func newWorld(t *testing.T, scripts map[string]script) *world {
	l, err := ledger.Open(context.Background(), filepath.Join(t.TempDir(), "ledger.db"))
	check(t, err)
	w := &world{t: t, ledger: l, host: newHost(l, scripts)}
	t.Cleanup(func() { w.stop(); l.Close() })
	w.restart(nil)
	return w
}

// restart puts new races in charge. With a fuse they die at some call.
func (w *world) restart(f *fuse) {
	w.t.Helper()
	w.stop()
	w.Races = New(Config{Boxes: fakeBoxes{w.host, f}, Ledger: fusedLedger{w.ledger, f}})
}

func (w *world) stop() {
	if w.Races != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		check(w.t, w.Races.Close(ctx))
	}
}

// run has a race run to its end.
func (w *world) run(spec forkbox.RaceSpec) forkbox.Race {
	w.t.Helper()
	rec, err := w.Start(context.Background(), ada, spec)
	check(w.t, err)
	return w.ended(rec.ID)
}

// ended waits for the end of a race.
func (w *world) ended(ref string) (end forkbox.Race) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	check(w.t, w.Follow(ctx, ada, ref, func(e forkbox.RaceEvent) error {
		if e.Kind == forkbox.RaceEnds {
			end = *e.Record
		}
		return nil
	}))
	return end
}

// eventually waits for what another goroutine is about to do.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code forkbox.Code) {
	t.Helper()
	if err == nil || forkbox.CodeOf(err) != code {
		t.Fatalf("got error %v, want one with code %s", err, code)
	}
}

// summary is what came of a race, as far as it is the same each time.
func summary(rec forkbox.Race) string {
	lines := []string{fmt.Sprintf("%s winner=%q", rec.State, rec.Winner)}
	for _, e := range rec.Entries {
		lines = append(lines, fmt.Sprintf("%d %s %s attempt=%d", e.Rank, e.Name, e.Outcome, e.Attempt))
	}
	return strings.Join(lines, "\n")
}

// approaches makes a list of NAME=STEP;STEP.
func approaches(list ...string) (all []forkbox.Approach) {
	for _, text := range list {
		name, steps, _ := strings.Cut(text, "=")
		a := forkbox.Approach{Name: name}
		for _, s := range strings.Split(steps, ";") {
			a.Steps = append(a.Steps, forkbox.Command{Run: s})
		}
		all = append(all, a)
	}
	return all
}

func checks(list ...string) (all []forkbox.RaceCheck) {
	for _, run := range list {
		all = append(all, forkbox.RaceCheck{Command: forkbox.Command{Run: run}, Must: true})
	}
	return all
}

func entryOf(t *testing.T, rec forkbox.Race, name string) forkbox.Entry {
	t.Helper()
	at := slices.IndexFunc(rec.Entries, func(e forkbox.Entry) bool { return e.Name == name })
	if at < 0 {
		t.Fatalf("there is no entry %s", name)
	}
	return rec.Entries[at]
}

// fuse is how a daemon dies: from some call on, none does anything. That call
// itself was done, or not.
type fuse struct {
	mu    sync.Mutex
	calls int
	at    int  // the call at which it blows; zero is never
	after bool // the call was done
	once  sync.Once
	blown chan struct{}
}

func newFuse(at int, after bool) *fuse {
	return &fuse{at: at, after: after, blown: make(chan struct{})}
}

var errDied = forkbox.Errorf(forkbox.Internal, "do anything", "the daemon has died")

// step is one call.
func (f *fuse) step(do func() error) error {
	if f == nil {
		return do()
	}
	f.mu.Lock()
	f.calls++
	n, at := f.calls, f.at
	f.mu.Unlock()
	switch {
	case at == 0 || n < at:
		return do()
	case n == at && f.after:
		err := do()
		f.once.Do(func() { close(f.blown) })
		if err != nil {
			return err
		}
		return errDied
	}
	f.once.Do(func() { close(f.blown) })
	return errDied
}

// arm has it blow at the n-th call from now on.
func (f *fuse) arm(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = f.calls + n
}

func (f *fuse) isBlown() bool {
	select {
	case <-f.blown:
		return true
	default:
		return false
	}
}

func (f *fuse) dead() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.blown
}

// fusedLedger is a ledger whose daemon may die.
type fusedLedger struct {
	forkbox.Ledger
	fuse *fuse
}

func (l fusedLedger) AddRace(ctx context.Context, r forkbox.Race, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.AddRace(ctx, r, tell...) })
}

func (l fusedLedger) UpdateRace(ctx context.Context, r forkbox.Race, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.UpdateRace(ctx, r, tell...) })
}

func (l fusedLedger) SaveEntries(ctx context.Context, race string, entries []forkbox.Entry, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.SaveEntries(ctx, race, entries, tell...) })
}

func (l fusedLedger) DeleteRace(ctx context.Context, id string, tell ...forkbox.Event) error {
	return l.fuse.step(func() error { return l.Ledger.DeleteRace(ctx, id, tell...) })
}
