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
	t            *testing.T
	home, ledger string
	reality      string
	receipt      string
	layers       []string
}

func newLosingWorld(t *testing.T) *losingWorld {
	home, err := tempHome()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeHome(t, home) })
	l := &losingWorld{t: t, home: home, ledger: filepath.Join(home, "ledger.db"), reality: filepath.Join(t.TempDir(), "f")}
	write(t, l.reality, "old\n")
	must(t, home, "new", "--name", "one")
	l.sh("one", "echo a > /tmp/lost-ledger-a")
	must(t, home, "snapshot", "one", "first")
	stopDaemon(t, home)
	text, err := os.ReadFile(l.ledger)
	if err != nil {
		t.Fatal(err)
	}
	write(t, l.ledger+".backup", string(text))

	l.sh("one", "echo b > /tmp/lost-ledger-b")
	must(t, home, "snapshot", "one", "second")
	l.sh("one", "echo c > /tmp/lost-ledger-c; echo new > "+l.reality)
	must(t, home, "fork", "one@second", "kid")
	l.sh("kid", "echo d > /tmp/lost-ledger-d")
	must(t, home, "fork", "one@first", "unborn")
	must(t, home, "template", "create", "start", "--from", "one@first")
	l.receipt = must(t, home, "apply", "one", l.reality)
	stopDaemon(t, home)
	l.layers = l.stored()
	return l
}

func (l *losingWorld) sh(box, script string) string {
	l.t.Helper()
	return must(l.t, l.home, "exec", box, "--", "sh", "-c", script)
}

func (l *losingWorld) stored() []string {
	names, err := filepath.Glob(filepath.Join(l.home, "layers", "*"))
	if err != nil || len(names) == 0 {
		l.t.Fatalf("layers %v, error %v", names, err)
	}
	return names
}

// isRefused: a daemon does not begin with such a ledger, and says what to do.
func (l *losingWorld) isRefused() {
	l.t.Helper()
	out, err := forkboxCommand(l.home, "ls").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "forkbox repair") {
		l.t.Errorf("ls: %v %s, want a hint to repair it", err, out)
	}
	l.allThere()
}

// allThere: no layer was swept.
func (l *losingWorld) allThere() {
	l.t.Helper()
	if now := l.stored(); !slices.Equal(now, l.layers) {
		l.t.Fatalf("layers are\n%v, were\n%v", now, l.layers)
	}
}

// isWhole: two starts sweep nothing, the loss is reported, and repair brings
// everything back, also by its meaning.
func (l *losingWorld) isWhole(older bool) {
	l.t.Helper()
	must(l.t, l.home, "gc") // also sweeps
	stopDaemon(l.t, l.home)
	l.allThere()
	if out, _ := forkboxCommand(l.home, "doctor").Output(); !strings.Contains(string(out), "forkbox repair") {
		l.t.Errorf("doctor does not report the loss:\n%s", out)
	}
	out := must(l.t, l.home, "repair")
	if !older && !strings.Contains(out, "with 2 snapshots") {
		l.t.Errorf("repair: %s", out)
	}
	for box, script := range map[string]string{
		"one": "cat /tmp/lost-ledger-a /tmp/lost-ledger-b /tmp/lost-ledger-c", "kid": "cat /tmp/lost-ledger-a /tmp/lost-ledger-b /tmp/lost-ledger-d", "unborn": "cat /tmp/lost-ledger-a; ! cat /tmp/lost-ledger-b 2>/dev/null",
	} {
		want := map[string]string{"one": "a\nb\nc", "kid": "a\nb\nd", "unborn": "a"}[box]
		if got := l.sh(box, script); got != want {
			l.t.Errorf("%s has %q, want %q", box, got, want)
		}
	}
	must(l.t, l.home, "rollback", "one", "second")
	if got := l.sh("one", "cat /tmp/lost-ledger-a /tmp/lost-ledger-b; ls /tmp/lost-ledger-c 2>/dev/null || true"); got != "a\nb" {
		l.t.Errorf("rolled back it has %q", got)
	}
	must(l.t, l.home, "new", "--template", "start", "--name", "another")
	must(l.t, l.home, "undo", l.receipt)
	if text, err := os.ReadFile(l.reality); err != nil || string(text) != "old\n" {
		l.t.Errorf("after the undo reality has %q, error %v", text, err)
	}
	l.isForgettable()
}

// isForgettable: what came back can go again, with all that it took.
func (l *losingWorld) isForgettable() {
	l.t.Helper()
	if out := must(l.t, l.home, "repair"); out != "the ledger knows all that is stored" {
		l.t.Errorf("repaired twice: %s", out)
	}
	must(l.t, l.home, "rm", "-f", "one", "kid", "unborn", "another")
	must(l.t, l.home, "template", "rm", "start")
	stopDaemon(l.t, l.home)
	must(l.t, l.home, "ls")
	nothingLeft(l.t, l.home, "after repair and rm")
	if records, _ := filepath.Glob(filepath.Join(l.home, "records", "*")); len(records) > 0 {
		l.t.Errorf("records are left of what was removed: %v", records)
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
