//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// contest is a race whose end is known.
type contest struct {
	file   string
	order  string // best first; = is a shared rank
	became string
	winner string
	says   []string // in the verdict
}

// contests are scripted: nothing in them is left to chance.
func contests() map[string]contest {
	return map[string]contest{
		"one passes": {
			file: `
approaches:
  - {name: wrong, run: echo wrong > answer}
  - {name: right, run: echo right > answer}
  - {name: lost, run: 'echo lost > answer; echo more >> answer'}
checks: [grep -q right answer]
`,
			order: "right wrong lost", became: "lost:failed right:passed wrong:failed", winner: "right", says: []string{"right wins"},
		},
		"the smaller diff": {
			file: `
approaches:
  - {name: long, run: 'seq 50 > new'}
  - {name: short, run: 'echo 1 > new'}
  - {name: middle, run: 'seq 9 > new'}
checks: [test -s new]
`,
			order: "short middle long", became: "long:passed middle:passed short:passed", winner: "short", says: []string{"short wins", "diff"},
		},
		"fewer files": {
			file: `
approaches:
  - {name: two, run: 'echo 1 > a; echo 2 > b'}
  - {name: one, run: 'seq 9 > a'}
checks: ["true"]
tie_breaks: [fewer-files]
`,
			order: "one two", became: "one:passed two:passed", winner: "one", says: []string{"one wins"},
		},
		"a full tie": {
			file: `
approaches:
  - {name: z, run: echo z > f}
  - {name: a, run: echo a > f}
  - {name: m, run: 'false'}
checks: [test -e f]
`,
			order: "z=a m", became: "a:passed m:broken z:passed", winner: "z", says: []string{"tie", "listed first"},
		},
		"all fail": {
			file: `
approaches:
  - {name: a, run: echo a > f}
  - {name: b, run: 'exit 3'}
checks: [test -e missing]
`,
			order: "a b", became: "a:failed b:broken", says: []string{"nobody wins"},
		},
		"no check at all": {
			file: `
approaches:
  - {name: a, run: echo a > f}
  - {name: b, run: 'true'}
`,
			order: "b a", became: "a:passed b:passed", winner: "b",
		},
		"a step that may fail": {
			file: `
approaches:
  - {name: a, steps: [{run: 'false', may_fail: true}, [sh, -c, 'echo "$1" > f', sh, "two  words"]]}
  - {name: b, steps: ["true", 'false', echo never > f]}
checks: [grep -qx 'two  words' f]
`,
			order: "a b", became: "a:passed b:broken", winner: "a",
		},
	}
}

func TestRaceWinners(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	for name, c := range contests() {
		t.Run(name, func(t *testing.T) { w.as(t).decides(c) })
	}
}

// as is the same world for a test within the test.
func (w *raceWorld) as(t *testing.T) *raceWorld {
	same := *w
	same.T = t
	return &same
}

// decides runs a contest, and finds that it ends as it has to.
func (w *raceWorld) decides(c contest) forkbox.Race {
	w.Helper()
	r := w.raceOf(c.file)
	w.is(r, c.order, c.became)
	if r.Winner != c.winner {
		w.Errorf("the winner is %q, not %q: %s", r.Winner, c.winner, told(r))
	}
	for _, word := range c.says {
		if !strings.Contains(r.Verdict, word) {
			w.Errorf("the verdict does not say %q: %s", word, r.Verdict)
		}
	}
	return r
}

// TestRaceOnTheCommandLine has the same with flags, for people: the table and
// the verdict are on stdout, and the exit says whether an approach won.
func TestRaceOnTheCommandLine(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	flags := []string{"race", "--name", "fix", "--try", "dep=echo bad > f", "--try", "patch=echo good > f", "--check", "grep good f"}
	out, said, code := w.cli(flags...)
	if code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, said)
	}
	for _, word := range []string{"patch wins", "forkbox race apply fix"} {
		if !strings.Contains(out+said, word) {
			t.Errorf("it does not say %q: %s%s", word, out, said)
		}
	}
	if p, d := strings.Index(out, "patch"), strings.Index(out, "dep"); p < 0 || d < p {
		t.Errorf("patch is not before dep: %s", out)
	}
	if out, said, code := w.cli("race", "--try", "a=true", "--try", "b=true", "--check", "false"); code != 1 || !strings.Contains(out+said, "nobody wins") {
		t.Errorf("exit %d: %s%s", code, out, said)
	}
	if w.reality("f") != "" {
		t.Error("something landed")
	}
}
