package engine

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// spoil has the undo of a receipt fail once all is put back, as a full disk
// does: what it left cannot be written down. Where the way back is spoilt as
// well, it cannot be decided until that is mended.
func (l *lab) spoil(r forkbox.Receipt, wayBack bool) (mend func()) {
	l.t.Helper()
	names := []string{"undone.next"}
	if wayBack {
		names = append(names, "left.next")
	}
	for _, name := range names {
		check(l.t, os.Mkdir(l.receipts+"/"+r.ID+"/"+name, 0o700))
	}
	return func() {
		for _, name := range names {
			check(l.t, os.Remove(l.receipts+"/"+r.ID+"/"+name))
		}
	}
}

func (l *lab) undoFails(r forkbox.Receipt) forkbox.Receipt {
	l.t.Helper()
	if _, err := l.Undo(context.Background(), me, r.ID, UndoSpec{}); err == nil {
		l.t.Fatal("the undo did not fail")
	}
	return l.receipt(r)
}

func (l *lab) receipt(r forkbox.Receipt) forkbox.Receipt {
	l.t.Helper()
	now, err := l.ledger.Receipt(context.Background(), r.ID)
	check(l.t, err)
	return now
}

// An undo that failed has not happened, and works when it is asked for again:
// at once, or by the next daemon. An apply does as well.
func TestPromise2AFailedUndoCanBeRepeated(t *testing.T) {
	before := map[string]string{"f": "-rw-r--r-- old\n"}
	after := map[string]string{"f": "-rw-r--r-- box\n", "new": "-rw-r--r-- box\n"}
	undo := func(t *testing.T, l *lab, r forkbox.Receipt) {
		_, err := l.Undo(context.Background(), me, r.ID, UndoSpec{})
		check(t, err)
		l.wantTree(before)
	}
	for name, c := range map[string]struct {
		wayBack bool
		state   forkbox.ReceiptState
		then    func(*testing.T, *lab, forkbox.Receipt)
	}{
		"it went back":  {false, forkbox.Applied, undo},
		"not even that": {true, forkbox.Landing, undo},
		"by the next daemon": {true, forkbox.Landing, func(t *testing.T, l *lab, r forkbox.Receipt) {
			l.again(&fuse{})
			if now := l.receipt(r); now.State != forkbox.Applied || now.Note != "" {
				t.Errorf("the next daemon has it %s: %s", now.State, now.Note)
			}
			undo(t, l, r)
		}},
		"by the next daemon, of which the ledger knows nothing": {true, forkbox.Landing, func(t *testing.T, l *lab, r forkbox.Receipt) {
			check(t, l.ledger.UpdateReceipt(context.Background(), r)) // as it was when it had landed
			l.again(&fuse{})
			undo(t, l, r)
		}},
		"with an apply": {true, forkbox.Landing, func(t *testing.T, l *lab, r forkbox.Receipt) {
			l.box("two", "g", "two\n")
			l.mustApply("two", forkbox.ApplySpec{})
			if now := l.receipt(r); now.State != forkbox.Applied {
				t.Errorf("after an apply it is %s", now.State)
			}
			if again := l.mustApply("one", forkbox.ApplySpec{}); again.Paths != 0 {
				t.Errorf("what had landed lands again: %+v", again)
			}
			check(t, os.Remove(l.reality+"/g"))
			undo(t, l, r)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.real("f", "old\n")
			l.box("one", "f", "box\n", "new", "box\n")
			r := l.mustApply("one", forkbox.ApplySpec{})
			mend := l.spoil(r, c.wayBack)
			if now := l.undoFails(r); now.State != c.state {
				t.Errorf("it is %s: %s", now.State, now.Note)
			}
			l.wantTree(after)
			if c.wayBack {
				l.undoFails(r) // and again, as long as nothing is mended
				l.wantTree(after)
			}
			mend()
			c.then(t, l, r)
			l.wantNoLeak()
		})
	}
}

// An undo of which the ledger lost the end has happened.
func TestAnUndoThatTheLedgerLostIsFound(t *testing.T) {
	l := newLab(t)
	l.real("f", "old\n")
	l.box("one", "f", "box\n")
	r := l.mustApply("one", forkbox.ApplySpec{})
	_, err := l.Undo(context.Background(), me, r.ID, UndoSpec{})
	check(t, err)
	check(t, l.ledger.UpdateReceipt(context.Background(), r))
	l.again(&fuse{})
	if now := l.receipt(r); now.State != forkbox.Undone || now.Undone.IsZero() {
		t.Errorf("it is %s", now.State)
	}
	if again := l.mustApply("one", forkbox.ApplySpec{}); again.Paths != 1 {
		t.Errorf("then it lands %d paths", again.Paths)
	}
}

// An undo that fails while the caller edits what it had put back is torn. Its
// receipt says so, and what it keeps stays, however old it gets.
func TestATornUndoKeepsWhatItSays(t *testing.T) {
	l := newLab(t)
	now := time.Now()
	l.config = func(c *Config) { c.UndoAge = time.Hour; c.Now = func() time.Time { return now } }
	l.again(&fuse{})
	l.real("f", "old\n")
	l.real("g", "old\n")
	l.box("one", "f", "box\n", "g", "box\n")
	r := l.mustApply("one", forkbox.ApplySpec{})
	mend := l.spoil(r, false)
	t.Cleanup(func() { // it may lie outside of the test's own directory
		mend()
		config, err := l.LandingConfig(r)
		check(t, err)
		defer config.Root.Close()
		check(t, land.Expire(context.Background(), config))
	})
	edited := false
	land.OnStep(func() {
		if text, err := os.ReadFile(l.reality + "/f"); !edited && err == nil && string(text) == "old\n" {
			edited = true
			l.real("f", "edited\n")
		}
	})
	torn := l.undoFails(r)
	land.OnStep(func() {})
	if torn.State != forkbox.Torn || !slices.ContainsFunc(torn.Cautions, func(c forkbox.Caution) bool { return c.Path == l.reality+"/f" }) {
		t.Fatalf("edited: %v; it is %s, with %v", edited, torn.State, torn.Cautions)
	}
	if again := l.undoFails(r); len(again.Cautions) != len(torn.Cautions) {
		t.Errorf("a second undo has it say %v", again.Cautions)
	}
	now = now.Add(2 * time.Hour)
	l.box("two", "h", "two\n")
	l.mustApply("two", forkbox.ApplySpec{})
	l.again(&fuse{})
	if now := l.receipt(r); now.State != forkbox.Torn {
		t.Errorf("it is %s now", now.State)
	}
	if text, err := os.ReadFile(keptAs(torn.Cautions)); err != nil || string(text) != "box\n" {
		t.Errorf("where it says that the other version is kept: %q, %v", text, err)
	}
	l.wantTree(map[string]string{"f": "-rw-r--r-- edited\n", "g": "-rw-r--r-- box\n", "h": "-rw-r--r-- two\n"})
}

// keptAs is where a torn receipt says that it keeps something.
func keptAs(cautions []forkbox.Caution) string {
	for _, c := range cautions {
		if _, at, ok := strings.Cut(c.Why, "kept as "); ok {
			return at
		}
	}
	return "nowhere"
}
