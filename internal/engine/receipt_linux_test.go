package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
)

// landings are what the daemon is killed at.
var landings = []struct {
	name  string
	deeds func(l *lab)
}{
	{"apply", func(l *lab) { l.apply("one", forkbox.ApplySpec{}) }},
	{"apply that is refused", func(l *lab) {
		l.apply("one", forkbox.ApplySpec{Reviewed: "sha256:other"})
	}},
	{"apply and undo", func(l *lab) {
		l.apply("one", forkbox.ApplySpec{})
		l.Undo(context.Background(), me, l.latest(), UndoSpec{})
	}},
	{"undo that is refused", func(l *lab) {
		l.apply("one", forkbox.ApplySpec{})
		if bases.Exists(l.reality + "/new") {
			os.WriteFile(l.reality+"/new", []byte("reality\n"), 0o644)
		}
		l.Undo(context.Background(), me, l.latest(), UndoSpec{})
	}},
	{"two applies", func(l *lab) {
		l.apply("one", forkbox.ApplySpec{Selection: forkbox.Selection{Paths: []string{l.reality + "/f"}}})
		l.apply("one", forkbox.ApplySpec{})
	}},
}

// The daemon is killed at every step of an apply and an undo that it writes to
// the ledger. What the next one finds agrees: ledger, receipts and reality.
func TestPromise2LedgerAndRealityAgreeWhenKilledAtAnyStep(t *testing.T) {
	for _, c := range landings {
		t.Run(c.name, func(t *testing.T) {
			for _, after := range []bool{false, true} {
				for at, blown := 1, true; blown; at++ {
					blown = killedAt(t, c.deeds, at, after)
				}
			}
		})
	}
}

func killedAt(t *testing.T, deeds func(*lab), at int, after bool) (blown bool) {
	t.Helper()
	l := newLab(t)
	l.real("f", "old\n")
	l.real("gone", "gone\n")
	l.box("one", "f", "box\n", "gone", "-", "new", "box\n")
	l.box("two", "f", "two\n")
	f := &fuse{at: at, after: after}
	l.again(f)
	deeds(l)
	l.again(&fuse{})
	if err := l.disagree(); err != nil {
		t.Fatalf("killed at step %d (after it: %v): %v", at, after, err)
	}
	return f.isBlown()
}

// disagree is where reality is not what the receipts say.
func (l *lab) disagree() error {
	if err := l.leak(); err != nil {
		return err
	}
	list, err := l.ledger.Receipts(context.Background(), nil, forkbox.Applied)
	if err != nil {
		return err
	}
	want := map[string]string{"f": "-rw-r--r-- old\n", "gone": "-rw-r--r-- gone\n"}
	for _, r := range list {
		if want["f"] = "-rw-r--r-- box\n"; r.Paths > 1 || len(list) > 1 {
			delete(want, "gone")
			want["new"] = "-rw-r--r-- box\n"
		}
	}
	got := tree(l.reality)
	if got["new"] == "-rw-r--r-- reality\n" {
		want["new"] = got["new"]
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("%d applies are in force, and reality is %q", len(list), got)
	}
	return l.canGoOn(list)
}

// canGoOn: what is said to be undoable can be undone, and the box can land.
func (l *lab) canGoOn(list []forkbox.Receipt) error {
	for range list {
		if _, err := l.Undo(context.Background(), me, l.latest(), UndoSpec{ForceAll: true}); err != nil {
			return err
		}
	}
	l.wantTree(map[string]string{"f": "-rw-r--r-- old\n", "gone": "-rw-r--r-- gone\n"})
	if r, err := l.apply("one", forkbox.ApplySpec{}); err != nil || r.Paths != 3 {
		return fmt.Errorf("then it lands %d paths: %w", r.Paths, errors.Join(err))
	}
	return l.leak()
}

// The ledger may lose its last moments when the power fails.
func TestAnApplyThatTheLedgerLostIsFound(t *testing.T) {
	l := newLab(t)
	l.real("f", "old\n")
	l.box("one", "f", "new\n")
	r := l.mustApply("one", forkbox.ApplySpec{Message: "why"})
	check(t, l.ledger.DeleteReceipt(context.Background(), r.ID))
	check(t, os.WriteFile(l.receipts+"/cut.json", []byte(`{"id":"cu`), 0o600))
	check(t, os.WriteFile(l.receipts+"/other.json", []byte(`{"id":"another"}`), 0o600))
	l.again(&fuse{})
	found, err := l.Receipt(context.Background(), me, r.ID)
	if err != nil || found.State != forkbox.Applied || found.Message != "why" || found.Box != r.Box || found.Paths != 1 || len(found.Entries) != 1 || found.Entries[0] != r.Entries[0] {
		t.Fatalf("%+v, %v", found, err)
	}
	l.wantNoLeak()
	_, err = l.Undo(context.Background(), me, r.ID, UndoSpec{})
	check(t, err)
	l.wantTree(map[string]string{"f": "-rw-r--r-- old\n"})
}

func TestReceiptsExpire(t *testing.T) {
	for _, c := range []struct {
		name   string
		config func(*Config)
		wait   time.Duration
	}{
		{"by age", func(c *Config) { c.UndoAge = time.Hour }, 2 * time.Hour},
		{"by size", func(c *Config) { c.UndoSize = 1 }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			now := time.Now()
			l.config = func(cfg *Config) { c.config(cfg); cfg.Now = func() time.Time { return now } }
			l.again(&fuse{})
			l.real("f", "old\n")
			l.real("g", "old\n")
			l.box("one", "f", "new\n", "g", "new\n")
			first := l.mustApply("one", forkbox.ApplySpec{Selection: forkbox.Selection{Paths: []string{l.reality + "/f"}}})
			now = now.Add(time.Second + c.wait)
			second := l.mustApply("one", forkbox.ApplySpec{})
			_, err := l.Undo(context.Background(), me, first.ID, UndoSpec{})
			wantCode(t, err, forkbox.Invalid)
			if r, err := l.Receipt(context.Background(), me, first.ID); err != nil || r.State != forkbox.Expired || r.Bytes != 0 {
				t.Errorf("%+v, %v", r, err)
			}
			for name, text := range tree(l.receipts + "/" + first.ID) {
				if strings.HasSuffix(text, " old\n") {
					t.Errorf("what it replaced is still in %s", name)
				}
			}
			// The latest one can always be undone.
			_, err = l.Undo(context.Background(), me, second.ID, UndoSpec{})
			check(t, err)
			l.wantTree(map[string]string{"f": "-rw-r--r-- new\n", "g": "-rw-r--r-- old\n"})
			l.wantNoLeak()
		})
	}
}

func TestReceiptsOfOthersAreNotFound(t *testing.T) {
	l := newLab(t)
	l.box("one", "f", "new\n")
	r := l.mustApply("one", forkbox.ApplySpec{})
	other := forkbox.Owner{UID: me.UID + 1}
	_, err := l.Undo(context.Background(), other, r.ID, UndoSpec{})
	wantCode(t, err, forkbox.NotFound)
	_, err = l.Receipt(context.Background(), other, r.ID)
	wantCode(t, err, forkbox.NotFound)
	if list, err := l.Receipts(context.Background(), other); len(list) > 0 || err != nil {
		t.Error(list, err)
	}
	if got, err := l.Receipt(context.Background(), me, r.ID[:4]); err != nil || got.ID != r.ID {
		t.Error("by the beginning of its id:", got, err)
	}
	_, err = l.Receipt(context.Background(), me, "")
	wantCode(t, err, forkbox.NotFound)
}

// together does things at the same time, and fails when they wait for each
// other.
func (l *lab) together(deeds ...func() error) {
	l.t.Helper()
	var group sync.WaitGroup
	errs := make([]error, len(deeds))
	for i, do := range deeds {
		group.Go(func() { errs[i] = do() })
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
		check(l.t, errors.Join(errs...))
	case <-time.After(time.Minute):
		l.t.Fatal("they wait for each other")
	}
}

func TestLandingsDoNotWaitForEachOther(t *testing.T) {
	l := newLab(t)
	for range 5 {
		l.real("f", "old\n")
		l.real("g", "old\n")
		l.box("one", "f", "one\n", "shared/one", "1\n")
		l.box("two", "g", "two\n", "shared/two", "2\n")
		apply := func(ref string) func() error {
			return func() error { _, err := l.apply(ref, forkbox.ApplySpec{}); return err }
		}
		against := func(ref, other string) func() error {
			return func() error {
				_, err := l.Diff(context.Background(), me, ref, forkbox.DiffSpec{Against: other}, func(forkbox.Change) error { return nil })
				return err
			}
		}
		start := func() error { _, err := l.Start(context.Background(), me, "two"); return err }
		l.together(apply("one"), apply("two"), start, against("one", "two"), against("two", "one"))
		if got := tree(l.reality); got["f"] != "-rw-r--r-- one\n" || got["g"] != "-rw-r--r-- two\n" || got["shared/one"] == "" || got["shared/two"] == "" {
			t.Errorf("reality is %q", got)
		}
		l.wantNoLeak()
		undo := func() error { // newest first: they share a directory
			for range 2 {
				if _, err := l.Undo(context.Background(), me, l.latest(), UndoSpec{}); err != nil {
					return err
				}
			}
			return nil
		}
		l.together(undo, start, against("one", "two"))
		for _, ref := range []string{"one", "two"} {
			check(t, l.Remove(context.Background(), me, ref, true))
		}
	}
	l.wantNoLeak()
}

// A caller who gives up waiting for another apply has changed nothing.
func TestWaitingForRealityCanBeGivenUp(t *testing.T) {
	l := newLab(t)
	l.box("one", "f", "new\n")
	release, err := l.landingManager.HoldReality(context.Background(), "test")
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = l.Apply(ctx, me, "one", forkbox.ApplySpec{})
	wantCode(t, err, forkbox.Busy)
	_, err = l.Undo(ctx, me, "any", UndoSpec{})
	wantCode(t, err, forkbox.Busy)
	release()
	l.wantTree(map[string]string{})
	l.mustApply("one", forkbox.ApplySpec{})
}
