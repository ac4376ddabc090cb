//go:build linux

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// threeWays is a race with a winner, to look at.
const threeWays = `
name: ways
setup: [echo base > base]
approaches:
  - {name: one, steps: [echo out of one, 'echo 1 > f', 'echo shared > s']}
  - {name: two, run: 'echo out of two; echo 2 > f; echo shared > s; seq 20 > g'}
  - {name: bad, run: 'echo out of bad >&2; exit 9'}
checks: [{run: 'echo checking; test -e f', name: has f}]
`

func (w *raceWorld) saysAll(words []string, args ...string) string {
	w.Helper()
	out := w.must(args...)
	for _, word := range words {
		if !strings.Contains(out, word) {
			w.Errorf("forkbox %q does not say %q: %s", args, word, out)
		}
	}
	return out
}

// TestRaceLooks: ls, show, diff, log and compare, for people and for programs.
func TestRaceLooks(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	r := w.raceOf(threeWays)
	w.is(r, "one two bad", "bad:broken one:passed two:passed")

	w.saysAll([]string{"ways", "finished", "one"}, "race", "ls")
	if all := w.races(); len(all) != 1 || all[0].ID != r.ID || all[0].Winner != "one" {
		t.Errorf("ls --json: %+v", all)
	}
	for _, ref := range []string{"ways", r.ID, r.ID[:len(r.ID)-2], "way"} {
		w.saysAll([]string{"one", "two", "bad", "broken", "one wins"}, "race", "show", ref)
	}
	if got := w.show("ways"); ranking(got) != ranking(r) || got.Verdict != r.Verdict {
		t.Errorf("show --json: %s", told(got))
	}
	w.saysAll([]string{"one wins"}, "race", "show") // the newest
	w.saysAll([]string{"ways"}, "race", "watch")    // which has ended

	diff := w.saysAll([]string{"f", "g"}, "race", "diff", "ways", "two")
	if strings.Contains(diff, "checking") {
		t.Errorf("diff: %s", diff)
	}
	between := w.must("race", "diff", "ways", "two", "one")
	if !strings.Contains(between, "g") || strings.Contains(between, "base") || strings.Contains(between, " s") {
		t.Errorf("what two did that one did not: %s", between)
	}
	w.saysAll([]string{"+2", "-1"}, "race", "diff", "-p", "ways", "two", "one")
	w.logsOf()
	w.refused([]string{"nobody"}, "race", "log", "ways", "nobody")
	w.refused([]string{"nobody"}, "race", "diff", "ways", "nobody")
	for _, verb := range []string{"show", "watch", "cancel", "rerun", "rm", "apply"} {
		w.refused([]string{"nothing-like-it"}, "race", verb, "nothing-like-it")
	}
}

// logsOf reads the transcripts, which outlive the boxes.
func (w *raceWorld) logsOf() {
	w.Helper()
	look := func() {
		w.Helper()
		log := w.saysAll([]string{"out of one", "has f", "checking"}, "race", "log", "ways", "one")
		if strings.Contains(log, "out of two") {
			w.Errorf("the log of one: %s", log)
		}
		out, errs, code := w.cli("race", "log", "ways", "bad")
		if code != 0 || !strings.Contains(out+errs, "out of bad") {
			w.Errorf("the log of bad: %d %s%s", code, out, errs)
		}
		var parts []string
		for line := range strings.Lines(w.must("race", "log", "ways", "one", "--json")) {
			var l forkbox.RaceLog
			w.ok(json.Unmarshal([]byte(line), &l))
			parts = append(parts, l.Part)
		}
		if len(parts) == 0 || !strings.HasPrefix(parts[len(parts)-1], "check") {
			w.Errorf("its parts are %q", parts)
		}
	}
	look()
	w.must("rm", "-f", "ways-one", "ways-two", "ways-bad")
	look()
}

// TestRaceCompare writes one page, whole or not at all.
func TestRaceCompare(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.raceOf(threeWays)
	page := w.file("page.html")
	w.must("race", "compare", "ways", "--html", page)
	text, err := os.ReadFile(page)
	w.ok(err)
	for _, word := range []string{"<!DOCTYPE html>", "ways", "one", "two", "has f", "out-of-nowhere"} {
		if found := strings.Contains(strings.ToLower(string(text)), strings.ToLower(word)); found != (word != "out-of-nowhere") {
			t.Errorf("that %q is on the page is %v", word, found)
		}
	}
	if out := w.must("race", "compare", "ways", "--html", "-"); !strings.Contains(out, "</html>") {
		t.Errorf("on stdout: %.300s", out)
	}
	w.ok(os.WriteFile(page, []byte("mine"), 0o644))
	w.refused(nil, "race", "compare", "nothing-like-it", "--html", page)
	if text, _ := os.ReadFile(page); string(text) != "mine" {
		t.Errorf("what failed has written %.100q", text)
	}
	w.refused([]string{"no/such"}, "race", "compare", "ways", "--html", w.file("no/such/dir.html"))
}

// TestRaceRemove removes the record, the boxes and the transcripts; boxes that
// are gone already are no matter.
func TestRaceRemove(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.raceOf(threeWays)
	w.must("new", "--name", "bystander")
	w.must("rm", "-f", "ways-two")
	w.must("race", "rm", "ways")
	if b := w.boxes(); len(b) != 1 || b[0].Name != "bystander" {
		t.Errorf("boxes are left: %+v", b)
	}
	if all := w.races(); len(all) != 0 {
		t.Errorf("races are left: %+v", all)
	}
	if left := transcripts(w.home); len(left) != 0 {
		t.Errorf("transcripts are left: %q", left)
	}
	w.refused([]string{"ways"}, "race", "show", "ways")
	w.raceOf(threeWays) // its name is free again
	w.refused([]string{"ways"}, "race", "--name", "ways", "--try", "a=true")
}
