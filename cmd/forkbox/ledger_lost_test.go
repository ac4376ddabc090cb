//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLostLedgerLosesNothing takes the ledger away from a store with boxes, a
// fork, snapshots, a template and a receipt, in all the ways that it can get
// lost. Nothing of them is swept, repair brings all of it back, and the apply
// can still be undone.
func TestLostLedgerLosesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		lose    func(t *testing.T, ledger string)
		refused bool // by the daemon, with words
	}{
		"moved aside": {lose: func(t *testing.T, ledger string) { rename(t, ledger, ledger+".aside") }},
		"emptied":     {lose: func(t *testing.T, ledger string) { write(t, ledger, "") }},
		"cut off":     {lose: func(t *testing.T, ledger string) { cutOff(t, ledger) }, refused: true},
		"garbage": {lose: func(t *testing.T, ledger string) { write(t, ledger, strings.Repeat("not a ledger. ", 1000)) },
			refused: true},
		"older": {lose: func(t *testing.T, ledger string) { rename(t, ledger+".backup", ledger) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLosingWorld(t)
			c.lose(t, l.ledger)
			if c.refused {
				l.isRefused()
				rename(t, l.ledger, l.ledger+".damaged") // as the hint says
			}
			l.isWhole(name == "older")
		})
	}
}

// losingWorld is a store whose ledger is about to be lost.
type losingWorld struct {
	*world
	ledger  string
	reality string
	receipt string
	layers  []string
}

func newLosingWorld(t *testing.T) *losingWorld {
	w := newWorld(t)
	l := &losingWorld{world: w, ledger: filepath.Join(w.home, "ledger.db"), reality: filepath.Join(t.TempDir(), "f")}
	write(t, l.reality, "old\n")
	l.must("new", "--name", "one")
	l.sh("one", "echo a > /tmp/lost-ledger-a")
	l.must("snapshot", "one", "first")
	l.stop()
	write(t, l.ledger+".backup", content(t, l.ledger))

	l.sh("one", "echo b > /tmp/lost-ledger-b")
	l.must("snapshot", "one", "second")
	l.sh("one", "echo c > /tmp/lost-ledger-c; echo new > "+l.reality)
	l.must("fork", "one@second", "kid")
	l.sh("kid", "echo d > /tmp/lost-ledger-d")
	l.must("fork", "one@first", "unborn")
	l.must("template", "create", "start", "--from", "one@first")
	l.receipt = l.must("apply", "one", l.reality)
	l.stop()
	l.layers = l.stored()
	return l
}

func (l *losingWorld) stored() []string {
	names, err := filepath.Glob(filepath.Join(l.home, "layers", "*"))
	if err != nil || len(names) == 0 {
		l.Fatalf("layers %v, error %v", names, err)
	}
	return names
}

// isRefused: a daemon does not begin with such a ledger, and says what to do.
func (l *losingWorld) isRefused() {
	l.Helper()
	out, err := combined(l.command("ls"))
	if err == nil || !strings.Contains(out, "forkbox repair") {
		l.Errorf("ls: %v %s, want a hint to repair it", err, out)
	}
	l.allThere()
}

// allThere: no layer was swept.
func (l *losingWorld) allThere() {
	l.Helper()
	if now := l.stored(); !slices.Equal(now, l.layers) {
		l.Fatalf("layers are\n%v, were\n%v", now, l.layers)
	}
}

// isWhole: two starts sweep nothing, the loss is reported, and repair brings
// everything back, also by its meaning.
func (l *losingWorld) isWhole(older bool) {
	l.Helper()
	l.must("gc") // also sweeps
	l.stop()
	l.allThere()
	if out, _, _ := l.cli("doctor"); !strings.Contains(out, "forkbox repair") {
		l.Errorf("doctor does not report the loss:\n%s", out)
	}
	out := l.must("repair")
	if !older && !strings.Contains(out, "with 2 snapshots") {
		l.Errorf("repair: %s", out)
	}
	for box, script := range map[string]string{
		"one": "cat /tmp/lost-ledger-a /tmp/lost-ledger-b /tmp/lost-ledger-c", "kid": "cat /tmp/lost-ledger-a /tmp/lost-ledger-b /tmp/lost-ledger-d", "unborn": "cat /tmp/lost-ledger-a; ! cat /tmp/lost-ledger-b 2>/dev/null",
	} {
		want := map[string]string{"one": "a\nb\nc", "kid": "a\nb\nd", "unborn": "a"}[box]
		if got := l.sh(box, script); got != want {
			l.Errorf("%s has %q, want %q", box, got, want)
		}
	}
	l.must("rollback", "one", "second")
	if got := l.sh("one", "cat /tmp/lost-ledger-a /tmp/lost-ledger-b; ls /tmp/lost-ledger-c 2>/dev/null || true"); got != "a\nb" {
		l.Errorf("rolled back it has %q", got)
	}
	l.must("new", "--template", "start", "--name", "another")
	l.must("undo", l.receipt)
	if text, err := os.ReadFile(l.reality); err != nil || string(text) != "old\n" {
		l.Errorf("after the undo reality has %q, error %v", text, err)
	}
	l.isForgettable()
}

// isForgettable: what came back can go again, with all that it took.
func (l *losingWorld) isForgettable() {
	l.Helper()
	if out := l.must("repair"); out != "the ledger knows all that is stored" {
		l.Errorf("repaired twice: %s", out)
	}
	l.must("rm", "-f", "one", "kid", "unborn", "another")
	l.must("template", "rm", "start")
	l.stop()
	l.must("ls")
	nothingLeft(l.T, l.home, "after repair and rm")
	if records, _ := filepath.Glob(filepath.Join(l.home, "records", "*")); len(records) > 0 {
		l.Errorf("records are left of what was removed: %v", records)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// cutOff leaves the first half of a ledger.
func cutOff(t *testing.T, ledger string) {
	t.Helper()
	info, err := os.Stat(ledger)
	if err == nil {
		err = os.Truncate(ledger, info.Size()/2/4096*4096)
	}
	if err != nil {
		t.Fatal(err)
	}
}
