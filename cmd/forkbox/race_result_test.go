//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// eventsOf reads what --json prints: an event on every line.
func (w *raceWorld) eventsOf(out string) (all []forkbox.RaceEvent) {
	w.Helper()
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e forkbox.RaceEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			w.Fatalf("no event: %v: %.1000q", err, lines.Text())
		}
		all = append(all, e)
	}
	w.ok(lines.Err())
	return all
}

// ended is the record that the last event has.
func (w *raceWorld) ended(out string) forkbox.Race {
	w.Helper()
	all := w.eventsOf(out)
	if len(all) == 0 || all[len(all)-1].Kind != forkbox.RaceEnds || all[len(all)-1].Record == nil {
		w.Fatalf("the last event is no end:\n%.4000s\n%s", out[max(0, len(out)-4000):], w.log())
	}
	return *all[len(all)-1].Record
}

// race runs one to its end. Its exit says whether an approach won.
func (w *raceWorld) race(args ...string) forkbox.Race {
	w.Helper()
	out, errs, code := w.cli(append([]string{"race", "--json"}, args...)...)
	if code != 0 && code != 1 {
		w.Fatalf("race %q: exit %d\n%.2000s%.4000s\n%s", args, code, out, errs, w.log())
	}
	r := w.ended(out)
	if (code == 0) != (r.Winner != "") || r.State != forkbox.RaceFinished {
		w.Errorf("exit %d, it is %s (%s), and the winner is %q", code, r.State, r.Why, r.Winner)
	}
	return r
}

// file writes a race file beside the workspace and returns its path.
func (w *raceWorld) raceFile(text string) string {
	w.Helper()
	path := w.file(fmt.Sprintf("race-%d.yaml", time.Now().UnixNano()))
	w.ok(os.WriteFile(path, []byte(text), 0o644))
	return path
}

// raceOf runs what a race file says.
func (w *raceWorld) raceOf(text string, args ...string) forkbox.Race {
	w.Helper()
	return w.race(append([]string{"-f", w.raceFile(text)}, args...)...)
}

func (w *raceWorld) entry(r forkbox.Race, name string) forkbox.Entry {
	w.Helper()
	i := slices.IndexFunc(r.Entries, func(e forkbox.Entry) bool { return e.Name == name })
	if i < 0 {
		w.Fatalf("%q is not in the race: %+v", name, r.Entries)
	}
	return r.Entries[i]
}

// ranking is the order of a race as "a b=c d": b and c share a rank.
func ranking(r forkbox.Race) string {
	var text strings.Builder
	for i, e := range r.Entries {
		switch {
		case i > 0 && e.Rank == r.Entries[i-1].Rank:
			text.WriteString("=")
		case i > 0:
			text.WriteString(" ")
		}
		text.WriteString(e.Name)
	}
	return text.String()
}

// outcomes are what became of each, as "a:passed b:failed", by name.
func outcomes(r forkbox.Race) string {
	var all []string
	for _, e := range r.Entries {
		all = append(all, e.Name+":"+string(e.Outcome))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// is finds a race as it has to be.
func (w *raceWorld) is(r forkbox.Race, order, became string) {
	w.Helper()
	if got := ranking(r); got != order {
		w.Errorf("the order is %q, not %q: %s", got, order, told(r))
	}
	if got := outcomes(r); got != became {
		w.Errorf("they became %q, not %q: %s", got, became, told(r))
	}
}

// told is a race for people who have to find out what went wrong.
func told(r forkbox.Race) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s, winner %q: %s %s\n", r.Name, r.State, r.Winner, r.Verdict, r.Why)
	for _, e := range r.Entries {
		fmt.Fprintf(&text, "  %d %s %s %s, score %g, diff %+v, why %q, reason %q\n", e.Rank, e.Name, e.Phase, e.Outcome, e.Score, e.Diff, e.Why, e.Reason)
		for _, s := range e.Steps {
			fmt.Fprintf(&text, "    step %.60q %+v\n", s.Name, s.Exit)
		}
		for _, c := range e.Checks {
			fmt.Fprintf(&text, "    check %.60q passed %v flaky %v score %g, %d runs %s\n", c.Name, c.Passed, c.Flaky, c.Score, len(c.Runs), c.Why)
		}
		for _, m := range e.Metrics {
			fmt.Fprintf(&text, "    metric %s %v %s\n", m.Name, m.Values, m.Why)
		}
	}
	return text.String()
}
