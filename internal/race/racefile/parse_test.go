package racefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func run(line string) forkbox.Command { return forkbox.Command{Run: line} }

// TestWhole reads the file that has everything.
func TestWhole(t *testing.T) {
	text, err := os.ReadFile("testdata/race.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ask := forkbox.Approach{Prompt: "Fix the failing test", Env: forkbox.Strings{"CI=true", "FORKBOX_PROMPT=Fix the failing test"},
		Steps: []forkbox.Command{{Name: "agent", Run: `claude -p "${FORKBOX_PROMPT}"`}}}
	ask1, ask2, ask3 := ask, ask, ask
	ask1.Name, ask2.Name, ask3.Name = "ask-1", "ask-2", "ask-3"
	ci := forkbox.Strings{"CI=true"}
	want := forkbox.RaceSpec{
		Name: "fix-login",
		Start: forkbox.RaceStart{From: "base@green", Net: "policy",
			NetWish: forkbox.NetWish{Preset: "locked", Rules: []string{"allow registry.example.com", "allow *.example.org:443", "deny tracker.example.org"}},
			Wish:    forkbox.Wish{Limits: forkbox.Limits{forkbox.CPUs: 2000, forkbox.Memory: 4 << 30}}},
		Setup: []forkbox.Command{{Run: "npm ci", Env: ci}, {Run: "npm run build", Timeout: 5 * time.Minute, Env: ci}},
		Approaches: []forkbox.Approach{
			{Name: "dep", Steps: []forkbox.Command{run("npm update left-pad")}, Env: ci},
			{Name: "patch", Env: forkbox.Strings{"CI=true", "LEFT=right"}, Limits: forkbox.Limits{forkbox.Memory: 2 << 30}, Net: "none", Provider: "native",
				Steps: []forkbox.Command{run("git apply fix.diff"), {Argv: forkbox.Strings{"sed", "-i", "s/a/b/", "file with spaces"}},
					{Name: "codegen", Run: "npm run codegen", Dir: "web", Env: forkbox.Strings{"NODE_ENV=test"}, Timeout: 90 * time.Second, MayFail: true}}},
			ask1, ask2, ask3,
		},
		Checks: []forkbox.RaceCheck{
			{Command: run("npm test"), Must: true},
			{Command: run("npm run lint"), Weight: 0.5},
			{Command: run("./score.sh"), Weight: 2, Of: 100, Once: true, Score: &forkbox.Extract{Pattern: "score: ([0-9.]+)"}},
		},
		Metrics: []forkbox.Metric{
			{Command: forkbox.Command{Name: "build", Run: "npm run build"}, Time: true, Unit: "s", Runs: 10, Warmup: 1, Most: 30, Budget: time.Minute, Tolerance: 0.02},
			{Command: forkbox.Command{Name: "size"}, Extract: forkbox.Extract{File: "dist/size.txt"}, Unit: "kB"},
			{Command: forkbox.Command{Name: "rate", Run: "./bench"}, Extract: forkbox.Extract{JSON: "results[0].rate"}, Higher: true},
			{Command: forkbox.Command{Name: "warnings", Argv: forkbox.Strings{"make", "all"}, MayFail: true}, Extract: forkbox.Extract{Pattern: `(\d+) warnings`}},
		},
		Protect:   forkbox.Strings{"*.golden", "tools/"},
		TieBreaks: []forkbox.TieBreak{forkbox.SmallerDiff, forkbox.FewerFiles, forkbox.Faster},
		Stop:      forkbox.StopDeadline, Deadline: 10 * time.Minute, Timeout: 5 * time.Minute, Parallel: 4, Retries: 1, Seed: 42,
	}
	if got, err := Parse("race.yaml", text); err != nil || !reflect.DeepEqual(got, want) {
		a, _ := json.MarshalIndent(got, "", " ")
		b, _ := json.MarshalIndent(want, "", " ")
		t.Errorf("%v\n%s\nwant\n%s", err, a, b)
	}
}

// TestShort is what people write in a hurry.
func TestShort(t *testing.T) {
	for text, want := range map[string]func(forkbox.RaceSpec) bool{
		"approaches: [make a, {run: make b}]": func(s forkbox.RaceSpec) bool {
			return s.Approaches[0].Name == "try-1" && s.Approaches[1].Name == "try-2" && s.Approaches[1].Steps[0].Run == "make b"
		},
		"approaches: [a]\nprotect: []":      func(s forkbox.RaceSpec) bool { return slices.Equal(s.Protect, forkbox.Strings{"none"}) },
		"approaches: [a]\nprotect: none":    func(s forkbox.RaceSpec) bool { return slices.Equal(s.Protect, forkbox.Strings{"none"}) },
		"approaches: [a]\nprotect: ./tests": func(s forkbox.RaceSpec) bool { return slices.Equal(s.Protect, forkbox.Strings{"./tests"}) },
		"setup: npm ci\napproaches: [a]\nchecks: [[npm, test]]": func(s forkbox.RaceSpec) bool {
			return s.Setup[0].Run == "npm ci" && len(s.Checks[0].Argv) == 2 && s.Checks[0].Must
		},
		"agent: x\napproaches: [{prompt: a}, {prompt: b, agent: y}]": func(s forkbox.RaceSpec) bool {
			return s.Approaches[0].Name == "agent-1" && s.Approaches[1].Name == "agent-2" && s.Approaches[0].Steps[0].Run == "x" && s.Approaches[1].Steps[0].Run == "y"
		},
		"agent: x\nn: 2\napproaches: [{prompt: a}]": func(s forkbox.RaceSpec) bool {
			return len(s.Approaches) == 2 && s.Approaches[1].Name == "agent-2"
		},
		"approaches: [{name: a, run: &r echo 1}, {name: b, run: *r}]": func(s forkbox.RaceSpec) bool { return s.Approaches[1].Steps[0].Run == "echo 1" },
		"approaches: [&d {name: a, run: x, env: {A: 1}}, {<<: *d, name: b}]": func(s forkbox.RaceSpec) bool {
			return s.Approaches[1].Name == "b" && s.Approaches[1].Env[0] == "A=1" && s.Approaches[1].Steps[0].Run == "x"
		},
		"approaches: [a]\npolicy: {deny: h.example, allow: [i.example]}": func(s forkbox.RaceSpec) bool {
			return s.Start.Net == "policy" && reflect.DeepEqual(s.Start.NetWish.Rules, []string{"deny h.example", "allow i.example"})
		},
		"from: b@s\napproaches: [a]\npolicy: {deny: h.example}":             func(s forkbox.RaceSpec) bool { return s.Start.Net == "" },
		"approaches: [a]\ntie_breaks: none":                                 func(s forkbox.RaceSpec) bool { return s.TieBreaks[0] == forkbox.NoTieBreak },
		"approaches: [a]":                                                   func(s forkbox.RaceSpec) bool { return s.TieBreaks == nil && s.Stop == "" },
		"approaches: [a]\nchecks: [{run: x, score: }]":                      func(s forkbox.RaceSpec) bool { return *s.Checks[0].Score == (forkbox.Extract{}) && !s.Checks[0].Must },
		"approaches: [a]\nchecks: [{run: x, score: {json: a}, must: true}]": func(s forkbox.RaceSpec) bool { return s.Checks[0].Must },
		"approaches: [a]\nmetrics: [{time: [make, x], tolerance: 0.5%}]": func(s forkbox.RaceSpec) bool {
			return s.Metrics[0].Tolerance == 0.005 && s.Metrics[0].Time && len(s.Metrics[0].Argv) == 2
		},
		"approaches: [{run: x, env: [A=b, C=d e]}]":         func(s forkbox.RaceSpec) bool { return s.Approaches[0].Env[1] == "C=d e" },
		"approaches: [{steps: {run: x, dir: y}}]\nchecks: ": func(s forkbox.RaceSpec) bool { return s.Approaches[0].Steps[0].Dir == "y" },
	} {
		if s, err := Parse("race.yaml", []byte(text)); err != nil || !want(s) {
			t.Errorf("%q: %v, %+v", text, err, s)
		}
	}
}

// TestBad: every mistake is an error that names the file, the line and what is
// wrong.
func TestBad(t *testing.T) {
	long := strings.Repeat("x", 41)
	for text, want := range map[string]string{
		"":            "race.yaml:1: there is nothing in it",
		"# nothing\n": "race.yaml:1: there is nothing in it",
		"approaches: [a]\nprotect: [none, ./none]": `race.yaml:2: protect[0]: "none" leaves no room for others`,
		"approaches: [a]\nprotect:\n- a\n- '!a'":   `race.yaml:4: protect[1]: "!a" is no pattern for paths in the race's directory`,
		"approaches: [a]\nprotect: [/etc]":         `race.yaml:2: protect[0]: "/etc" is no pattern for paths in the race's directory`,
		"approaches: [a]\nprotect: [../x]":         `race.yaml:2: protect[0]: "../x" leads out of the race's directory`,
		"approaches: [a]\nprotect: ['a[']":         `race.yaml:2: protect[0]: "a[" is no pattern`,
		"approaches: [a]\nprotect: .":              `race.yaml:2: protect[0]: "." is no pattern`,
		"approaches: [a]\ntemplate: t\nprotect: a": `race.yaml:3: protect[0]: what a template holds cannot be protected`,
		"- a\n":                                                           `race.yaml:1: there should be "key: value" lines`,
		"name: a\n":                                                       "race.yaml: approaches: there is nothing to try",
		"approaches: [a\n":                                                "race.yaml:1: did not find expected ',' or ']'",
		"approaches: [a]\n\tx: 1\n":                                       "race.yaml:2: found character that cannot start any token",
		"approaches: [a]\n---\na: b\n":                                    "race.yaml:2: a second document begins here",
		"approaches: [a]\nname: \"\x01\"\n":                               `race.yaml:2: "\x01" is no text`,
		"approaches: [a]\nname: \xff\n":                                   `race.yaml:2: "\xff" is no text`,
		"approaches: [a]\nchekcs: [x]\n":                                  `race.yaml:2: "chekcs" is not something it knows; is "checks" meant?`,
		"approaches: [a]\nchecks: []\nchecks: ":                           `race.yaml:3: "checks" is there twice`,
		"approaches:\n  - name: a\n    run: x\n    name: b\n":             `race.yaml:4: approaches[0]: "name" is there twice`,
		"approaches:\n  - name: a\n    rnu: x\n":                          `race.yaml:3: approaches[0]: "rnu" is not something it knows; is "run" meant?`,
		"approaches:\n  - {name: a, run: x}\n  - {name: a, run: y}\n":     `race.yaml:3: name: "a" is the name of approaches[0] already`,
		"approaches:\n  - name: A b\n    run: x\n":                        `race.yaml:2: name: "A b" is no name for it`,
		"approaches:\n  - {name: " + long + ", run: x}\n":                 "is no name for it",
		"approaches:\n  - name: a\n":                                      "race.yaml:2: approaches[0]: it does nothing",
		"approaches:\n  - {run: a, steps: [b]}\n":                         "race.yaml:2: approaches[0]: it has more than one of run, steps and prompt",
		"approaches:\n  - prompt: a\n":                                    "race.yaml:2: prompt: there is no agent to ask",
		"approaches:\n  - {run: a, agent: b}\n":                           "race.yaml:2: agent: there is no prompt for it",
		"approaches: a\n":                                                 "race.yaml:1: approaches: there should be a list",
		"approaches: [a]\nchecks:\n - true\n":                             "race.yaml:3: checks[0]: true is a truth value in YAML, not text",
		"approaches: [a]\nchecks:\n - {run: x, must: maybe}\n":            `race.yaml:3: must: "maybe" is neither true nor false`,
		"approaches: [a]\nchecks:\n - {run: x, weight: 0}\n":              "race.yaml:3: weight: 0 is not above zero",
		"approaches: [a]\nchecks:\n - {run: x, weight: .inf}\n":           `race.yaml:3: weight: ".inf" is no number`,
		"approaches: [a]\nchecks:\n - {run: x, may_fail: true}\n":         `race.yaml:3: checks[0]: "may_fail" is not something it knows`,
		"approaches: [a]\nchecks:\n - {run: x, of: 10}\n":                 "race.yaml:3: of: there is no score",
		"approaches: [a]\nchecks:\n - run: x\n   score: {pattern: '('}\n": "race.yaml:4: pattern: missing closing )",
		"approaches: [a]\nchecks:\n - {run: x, argv: [y]}\n":              "race.yaml:3: argv: there is a line for sh as well",
		"approaches: [a]\nchecks:\n - [[a]]\n":                            "there should be a single value",
		"approaches: [a]\nmetrics:\n - make\n":                            "race.yaml:3: metrics[0]: a metric is not just a command",
		"approaches: [a]\nmetrics:\n - {time: a, run: b}\n":               "race.yaml:3: time: there is another command as well",
		"approaches: [a]\nmetrics:\n - {time: a, json: b}\n":              "race.yaml:3: extract: a time is measured",
		"approaches: [a]\nmetrics:\n - {name: x}\n":                       "race.yaml:3: run: there is no command",
		"approaches: [a]\nmetrics:\n - {run: x, runs: 0}\n":               "race.yaml:3: runs: 0 is too few: the least is 1",
		"approaches: [a]\nmetrics:\n - {run: x, runs: 5, most: 2}\n":      "race.yaml:3: most: 2 is less than the 5 runs",
		"approaches: [a]\nmetrics:\n - {run: x, runs: 1001}\n":            "race.yaml:3: runs: 1001 is too many: 1000 is the most",
		"approaches: [a]\nmetrics:\n - {run: x, tolerance: 2}\n":          "race.yaml:3: tolerance: 2 is no value for it",
		"approaches: [a]\nmetrics:\n - {run: x, better: smaller}\n":       `race.yaml:3: better: "smaller" is not one of lower, higher`,
		"approaches: [a]\nmetrics:\n - {run: x, json: 'a..b'}\n":          `race.yaml:3: json: "" is no key`,
		"approaches: [a]\nmetrics:\n - {file: x, runs: 3}\n":              "race.yaml:3: runs: without a command there is nothing to repeat",
		"approaches: [a]\nstop: deadline\n":                               "race.yaml:2: stop: there is no deadline",
		"approaches: [a]\nstop: frist-pass\n":                             `race.yaml:2: stop: "frist-pass" is not one of all, first-pass, deadline; is "first-pass" meant?`,
		"approaches: [a]\ndeadline: 10\n":                                 `race.yaml:2: deadline: "10" is no value for it`,
		"approaches: [a]\ntimeout: unlimited\n":                           "race.yaml:2: timeout: it has to end",
		"approaches: [a]\nparallel: many\n":                               `race.yaml:2: parallel: "many" is no whole number`,
		"approaches: [a]\nparallel: -1\n":                                 "race.yaml:2: parallel: -1 is too few",
		"approaches: [a]\nretries: 11\n":                                  "race.yaml:2: retries: 11 is too many: 10 is the most",
		"approaches: [a]\nseed: 99999999999999999999\n":                   "is no whole number",
		"approaches: [a]\ntie_breaks: []\n":                               "race.yaml:2: tie_breaks: there are none",
		"approaches: [a]\ntie_breaks: [faster, faster]\n":                 `race.yaml:2: tie_breaks[1]: "faster" is there twice`,
		"approaches: [a]\ntie_breaks: [fast]\n":                           `race.yaml:2: tie_breaks[0]: "fast" is not one of`,
		"approaches: [a]\npolicy:\n  limits:\n    mem: 2g\n":              `race.yaml:4: limits: "mem" is not something it knows`,
		"approaches: [a]\npolicy:\n  limits:\n    memory: lots\n":         `race.yaml:4: memory: "lots" is no value for it`,
		"approaches: [a]\npolicy:\n  net: host\n":                         "race.yaml:3: net: a file cannot give boxes the host's network",
		"approaches: [a]\npolicy:\n  net: open\n":                         "race.yaml:3: net: open is a preset",
		"approaches: [a]\npolicy: {allow: ['']}\n":                        `race.yaml:2: rules[0]: "allow " is neither`,
		"approaches:\n - {run: x, policy: {preset: open}}\n":              `race.yaml:2: policy: "preset" is not something it knows`,
		"approaches:\n - {run: x, env: {'a=b': 1}}\n":                     `race.yaml:2: env: "a=b" is no name of a variable`,
		"approaches:\n - {run: x, env: [a]}\n":                            `race.yaml:2: env[0]: "a" is not NAME=VALUE`,
		"approaches:\n - {run: x, env: {a: }}\n":                          "race.yaml:2: a: there is no value",
		"approaches:\n - {run: x, env: {a: [b]}}\n":                       "race.yaml:2: a: there should be a single value",
		"approaches:\n - steps:\n   - {run: x, dir: ../..}\n":             `race.yaml:3: dir: "../.." leads out of the race's directory`,
		"approaches:\n - steps:\n   - {run: x, timeout: -1s}\n":           `race.yaml:3: timeout: "-1s" is no value`,
		"approaches:\n - steps: [[]]\n":                                   "race.yaml:2: argv: there is no command",
		"approaches: [a]\nfrom: x\ntemplate: y\n":                         "race.yaml:3: template: boxes cannot begin as",
		"approaches:\n - run: x\n   n: 300\n":                             "race.yaml:1: approaches: there are 257, and 256 is the most",
		"approaches: [a]\nname: 0123456789ab\n":                           "race.yaml:2: name: \"0123456789ab\" looks like the id of a race",
		"approaches: [{run: !secret x}]\n":                                "race.yaml:1: run: !secret is not taken here",
		"? [a]\n: b\n":                                                    "a key is a plain word",
		"approaches: [*x]\n":                                              "unknown anchor",
		"approaches: &x [*x]\n":                                           `there should be "key: value" lines`,
		"approaches: [a]\nn: 3\nname: " + long[:30] + "\nsetup: " + long:  "",
	} {
		s, err := Parse("race.yaml", []byte(text))
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("%q:\n%v, not\n%s", text, err, want)
		}
		if len(s.Approaches) > 0 {
			t.Errorf("%q: there is a race all the same: %+v", text, s)
		}
	}
}

// TestAllAtOnce: who made five mistakes hears of five, in the order of the file.
func TestAllAtOnce(t *testing.T) {
	_, err := Parse("race.yaml", []byte(`name: Bad Name
approaches:
  - {name: a, rnu: x}
  - {name: b, run: y, policy: {limits: {memory: x}}}
  - {name: b, run: z}
checks:
  - {run: test, weight: -1}
stop: never
`))
	var e *forkbox.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	var got []string
	for _, item := range e.Items {
		got = append(got, item.Path+" "+strings.Fields(item.Why)[0])
	}
	want := []string{"race.yaml:1 name:", "race.yaml:3 approaches[0]:", "race.yaml:4 memory:", "race.yaml:5 name:", "race.yaml:7 weight:", "race.yaml:8 stop:"}
	if !reflect.DeepEqual(got, want) || !strings.HasSuffix(e.Why, "(and 5 more)") || len(e.Hints) == 0 {
		t.Errorf("%q, not %q\n%+v", got, want, e)
	}
}

// TestTooMuch: files that are made to keep the parser busy.
func TestTooMuch(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x]\n")
	for i := range 20 {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	fmt.Fprintf(&laughs, "approaches: *a20\n")
	long := "approaches:\n - &a {name: a, steps: &s [" + strings.TrimSuffix(strings.Repeat("&t "+strings.Repeat("x", 1000)+",", 1), ",") + strings.Repeat(",*t", 99) + "]}\n" +
		strings.Repeat(" - *a\n", 250)
	for name, text := range map[string]string{
		"long":         "approaches: [a]\n#" + strings.Repeat("x", 1<<20),
		"laughs":       laughs.String(),
		"aliased text": long,
		"deep":         strings.Repeat("[", 100_000),
		"many faults":  "approaches: [a]\n" + strings.Repeat("x: 1\n", 10_000),
		"wide":         "approaches: [" + strings.Repeat("a,", 200_000) + "]",
	} {
		_, err := Parse("race.yaml", []byte(text))
		var e *forkbox.Error
		if !errors.As(err, &e) || len(e.Items) > mostFaults+1 || len(e.Error()) > 2000 {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

// FuzzParse: no text makes the reader fall over; what it takes for a race can be
// run and survives the way to the daemon, what it refuses has a reason.
func FuzzParse(f *testing.F) {
	whole, err := os.ReadFile("testdata/race.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte("approaches: [&a {run: x}, {<<: *a, name: b}]\nchecks: [{run: x, score: {json: 'a[0]'}}]"))
	f.Add([]byte("approaches: &x [*x]\nn: 1\n---\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		spec, err := Parse("race.yaml", text)
		if err != nil {
			if forkbox.CodeOf(err) != forkbox.Invalid || !strings.Contains(err.Error(), "race.yaml") {
				t.Fatal(err)
			}
			return
		}
		if err := spec.Check(); err != nil {
			t.Fatalf("%+v was read and is refused: %v", spec, err)
		}
		data, err := json.Marshal(spec)
		var back forkbox.RaceSpec
		if err != nil || json.Unmarshal(data, &back) != nil || back.Check() != nil {
			t.Fatalf("%+v does not survive: %v", spec, err)
		}
	})
}
