//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// protecting has a workspace with a check that looks for a fix, and data that it
// reads. Each approach but the first passes only by a check of its own.
const protecting = `
approaches:
  - {name: fix, run: echo fixed > main}
  - {name: over, run: echo true > t/check.sh}
  - {name: link, run: 'echo true > ok; rm t/check.sh; ln -s ../ok t/check.sh'}
  - {name: moved, run: 'mv t u; mkdir t; echo true > t/check.sh'}
  - {name: links, run: 'mv t u; mkdir v; echo true > v/check.sh; ln -s v t'}
  - {name: late, run: 'echo true > t/check.sh; (while sleep 0.01; do echo true > t/check.sh; done) > /dev/null 2>&1 &'}
  - {name: both, run: 'echo fixed > main; echo true > t/check.sh; echo mine > t/new'}
checks: [sh t/check.sh]
`

func (w *raceWorld) protected(head, want string) forkbox.Race {
	w.Helper()
	r := w.raceOf(head + protecting)
	for _, e := range r.Entries {
		outcome := forkbox.OutcomeFailed
		if slices.Contains(strings.Fields(want), e.Name) {
			outcome = forkbox.OutcomePassed
		}
		if e.Outcome != outcome {
			w.Errorf("%s: %s (%s)", e.Name, e.Outcome, e.Why)
		}
	}
	return r
}

// TestRaceProtectsTheCheck: who overwrites, moves or replaces the check is judged
// by the one that was there, and what lands is what its steps left.
func TestRaceProtectsTheCheck(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.ok(os.Mkdir(filepath.Join(w.ws, "t"), 0o755))
	w.write("main", "broken\n")
	w.write("t/check.sh", "grep -q fixed main\n")
	r := w.protected("name: p\n", "fix both")
	if r.Winner != "fix" {
		t.Errorf("%q wins", r.Winner)
	}
	for _, e := range r.Entries {
		if len(e.Protected) > 0 != (e.Name != "fix") {
			t.Errorf("%s is judged without %v", e.Name, e.Protected)
		}
	}
	if out := w.must("race", "show", "p"); !strings.Contains(out, "check put back") || !strings.Contains(out, "both changed what judges it (t/check.sh)") {
		t.Errorf("the result says nothing of it:\n%s", out)
	}
	if got := w.sh("p-both", "cat main t/check.sh t/new"); got != "fixed\ntrue\nmine" {
		t.Errorf("the box has %q", got)
	}
	if got := w.sh("p-links", "readlink t; cat u/check.sh"); got != "v\ngrep -q fixed main" {
		t.Errorf("the box has %q", got)
	}
	w.protected("protect: none\n", "fix over link moved links late both")
}

// TestRaceProtectsWhatASetupMade: the check is taken from where the race began,
// which is not reality.
func TestRaceProtectsWhatASetupMade(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.ok(os.Mkdir(filepath.Join(w.ws, "t"), 0o755))
	w.write("main", "broken\n")
	w.write("t/check.sh", "false\n")
	r := w.protected("name: p\nsetup: ['echo ''grep -q fixed main'' > t/check.sh']\n", "fix both")
	if r.Winner != "fix" {
		t.Errorf("%q wins", r.Winner)
	}
	if got := w.sh("p-both", "cat main t/check.sh t/new"); got != "fixed\ntrue\nmine" {
		t.Errorf("the box has %q", got)
	}
}
