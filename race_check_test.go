package forkbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func soundRace() RaceSpec {
	return RaceSpec{
		Name: "fix", Approaches: []Approach{{Name: "a", Steps: []Command{{Run: "make"}}}, {Name: "b-2", Steps: []Command{{Argv: Strings{"make", ""}}}}},
		Checks:  []RaceCheck{{Command: Command{Run: "make test"}, Must: true}, {Command: Command{Run: "s"}, Score: &Extract{JSON: "a[0]"}, Of: 10}},
		Metrics: []Metric{{Command: Command{Name: "t", Run: "x"}, Time: true, Unit: "s"}, {Extract: Extract{File: "size"}}},
	}
}

func TestRaceCheckAccepts(t *testing.T) {
	if err := soundRace().Check(); err != nil {
		t.Error(err)
	}
	least := RaceSpec{Approaches: []Approach{{Name: "a", Steps: []Command{{Run: "x"}}}}}
	if err := least.Check(); err != nil {
		t.Error(err)
	}
}

// raceFaultCase is a change that makes a sound race senseless, and what is said
// about it.
type raceFaultCase struct {
	spoil func(*RaceSpec)
	at    string
	why   string
}

func TestRaceCheckRefuses(t *testing.T) {
	step := func(c Command) func(*RaceSpec) {
		return func(s *RaceSpec) { s.Approaches[0].Steps = []Command{c} }
	}
	metric := func(m Metric) func(*RaceSpec) { return func(s *RaceSpec) { s.Metrics = []Metric{m} } }
	check := func(c RaceCheck) func(*RaceSpec) { return func(s *RaceSpec) { s.Checks = []RaceCheck{c} } }
	run := Command{Run: "x"}
	for _, c := range []raceFaultCase{
		{func(s *RaceSpec) { s.Approaches = nil }, "approaches", "nothing to try"},
		{func(s *RaceSpec) { s.Approaches = slices.Repeat(s.Approaches, 129) }, "approaches", "there are 258, and 256 is the most"},
		{func(s *RaceSpec) { s.Approaches[1].Steps = slices.Repeat(s.Approaches[1].Steps, 101) }, "approaches[1].steps", "100 is the most"},
		{func(s *RaceSpec) { s.Setup = slices.Repeat([]Command{run}, 101) }, "setup", "100 is the most"},
		{func(s *RaceSpec) { s.Checks = slices.Repeat(s.Checks, 101) }, "checks", "100 is the most"},
		{func(s *RaceSpec) { s.Metrics = slices.Repeat(s.Metrics, 101) }, "metrics", "100 is the most"},
		{func(s *RaceSpec) { s.Name = "Fix" }, "name", "is no name for it"},
		{func(s *RaceSpec) { s.Name = "deadbeef0123" }, "name", "looks like the id of a race"},
		{func(s *RaceSpec) { s.Name = strings.Repeat("x", 41) }, "name", "is no name for it"},
		{func(s *RaceSpec) { s.Approaches[0].Name = "" }, "approaches[0].name", "there is no name"},
		{func(s *RaceSpec) { s.Approaches[0].Name = "-a" }, "approaches[0].name", "is no name for it"},
		{func(s *RaceSpec) { s.Approaches[0].Name = "a\nb" }, "approaches[0].name", `"a\nb" is no name for it`},
		{func(s *RaceSpec) { s.Approaches[0].Name = "setup" }, "approaches[0].name", "the box of the setup"},
		{func(s *RaceSpec) { s.Approaches[1].Name = "a" }, "approaches[1].name", "is the name of approaches[0] already"},
		{func(s *RaceSpec) { s.Name, s.Approaches[0].Name = strings.Repeat("x", 40), strings.Repeat("y", 20) }, "approaches[0].name", "too long for the name of a box"},
		{func(s *RaceSpec) { s.Approaches[0].Steps = nil }, "approaches[0].steps", "there are none"},
		{step(Command{}), "approaches[0].steps[0].run", "there is no command"},
		{step(Command{Run: " \n"}), "approaches[0].steps[0].run", "there is no command"},
		{step(Command{Run: "x", Argv: Strings{"y"}}), "approaches[0].steps[0].argv", "a line for sh as well"},
		{step(Command{Argv: Strings{""}}), "approaches[0].steps[0].argv", "the program has no name"},
		{step(Command{Argv: Strings{"a", "b\x00"}}), "approaches[0].steps[0].argv[1]", "NUL"},
		{step(Command{Argv: slices.Repeat(Strings{"a"}, 1001)}), "approaches[0].steps[0].argv", "1000 is the most"},
		{step(Command{Run: strings.Repeat("x", 128<<10)}), "approaches[0].steps[0].run", "131071 is the most"},
		{step(Command{Run: "x", Name: "a\x1b[31m"}), "approaches[0].steps[0].name", "not printable"},
		{step(Command{Run: "x", Name: strings.Repeat("x", 201)}), "approaches[0].steps[0].name", "200 is the most"},
		{step(Command{Run: "x", Dir: "a/../../b"}), "approaches[0].steps[0].dir", "leads out of"},
		{step(Command{Run: "x", Dir: strings.Repeat("/x", 3000)}), "approaches[0].steps[0].dir", "4096 is the most"},
		{step(Command{Run: "x", Env: Strings{"A=1", "B"}}), "approaches[0].steps[0].env[1]", "not NAME=VALUE"},
		{step(Command{Run: "x", Env: Strings{"=1"}}), "approaches[0].steps[0].env[0]", "not NAME=VALUE"},
		{step(Command{Run: "x", Timeout: -1}), "approaches[0].steps[0].timeout", "below zero"},
		{step(Command{Run: "x", Timeout: 366 * 24 * time.Hour}), "approaches[0].steps[0].timeout", "more than a year"},
		{func(s *RaceSpec) { s.Setup = []Command{{}} }, "setup[0].run", "there is no command"},
		{func(s *RaceSpec) { s.Approaches[0].Env = slices.Repeat(Strings{"A=1"}, 1001) }, "approaches[0].env", "1000 is the most"},
		{func(s *RaceSpec) { s.Approaches[0].Limits = Limits{"mem": 1} }, "approaches[0].limits", "nothing called"},
		{func(s *RaceSpec) { s.Approaches[0].Limits = Limits{Memory: 1} }, "approaches[0].limits", "too little"},
		{func(s *RaceSpec) { s.Approaches[0].Rules = []string{"permit x"} }, "approaches[0].rules[0]", "neither"},
		{func(s *RaceSpec) { s.Approaches[0].Provider = "a\n" }, "approaches[0].provider", "not printable"},
		{func(s *RaceSpec) { s.Approaches[0].Prompt = strings.Repeat("x", 1<<20) }, "approaches[0].prompt", "is the most"},
		{func(s *RaceSpec) { s.Start.From, s.Start.Template = "a", "b" }, "start.template", "cannot begin as"},
		{func(s *RaceSpec) { s.Start.Dir = "a" }, "start.dir", "not an absolute path"},
		{func(s *RaceSpec) { s.Start.Env = Strings{"A"} }, "start.env[0]", "not NAME=VALUE"},
		{func(s *RaceSpec) { s.Start.NetWish.HostPorts = make([]int, 1001) }, "start.net_wish", "1000 is the most"},
		{func(s *RaceSpec) { s.Start.Wish.Limits = Limits{Memory: -7} }, "start.wish.limits", "below zero"},
		{func(s *RaceSpec) { s.Start.Wish.Project = Limits{"x": 1} }, "start.wish.project", "nothing called"},
		{check(RaceCheck{}), "checks[0].run", "there is no command"},
		{check(RaceCheck{Command: Command{Run: "x", MayFail: true}}), "checks[0].may_fail", "judges nothing"},
		{check(RaceCheck{Command: run, Weight: -1}), "checks[0].weight", "-1 is no value"},
		{check(RaceCheck{Command: run, Weight: math.NaN()}), "checks[0].weight", "NaN is no value"},
		{check(RaceCheck{Command: run, Weight: math.Inf(1)}), "checks[0].weight", "is no value"},
		{check(RaceCheck{Command: run, Of: 5}), "checks[0].of", "there is no score"},
		{check(RaceCheck{Command: run, Score: &Extract{}, Of: -5}), "checks[0].of", "is no value"},
		{check(RaceCheck{Command: run, Score: &Extract{Pattern: "("}}), "checks[0].score.pattern", "missing closing"},
		{check(RaceCheck{Command: run, Score: &Extract{Pattern: "(a{1000}){1000}"}}), "checks[0].score.pattern", "invalid repeat"},
		{check(RaceCheck{Command: run, Score: &Extract{Pattern: strings.Repeat("a", 5000)}}), "checks[0].score.pattern", "4096 is the most"},
		{check(RaceCheck{Command: run, Score: &Extract{Pattern: "a", JSON: "b"}}), "checks[0].score.json", "not by both"},
		{check(RaceCheck{Command: run, Score: &Extract{File: "../x"}}), "checks[0].score.file", "leads out"},
		{metric(Metric{}), "metrics[0].run", "there is no command"},
		{metric(Metric{Time: true, Extract: Extract{File: "x"}}), "metrics[0].run", "there is no command"},
		{metric(Metric{Command: run, Time: true, Extract: Extract{JSON: "x"}}), "metrics[0].extract", "a time is measured"},
		{metric(Metric{Command: run, Time: true, Unit: "ms"}), "metrics[0].unit", "in seconds"},
		{metric(Metric{Command: run, Unit: "\x1b"}), "metrics[0].unit", "not printable"},
		{metric(Metric{Command: run, Extract: Extract{JSON: "a["}}), "metrics[0].json", "neither [0]"},
		{metric(Metric{Command: run, Runs: -1}), "metrics[0].runs", "below zero"},
		{metric(Metric{Command: run, Runs: 1001}), "metrics[0].runs", "1000 is the most"},
		{metric(Metric{Command: run, Warmup: 1001}), "metrics[0].warmup", "1000 is the most"},
		{metric(Metric{Command: run, Runs: 5, Most: 4}), "metrics[0].most", "less than the 5 runs"},
		{metric(Metric{Command: run, Budget: -1}), "metrics[0].budget", "below zero"},
		{metric(Metric{Command: run, Tolerance: 1.5}), "metrics[0].tolerance", "from 0 to 1"},
		{metric(Metric{Extract: Extract{File: "x"}, Warmup: 1}), "metrics[0].runs", "nothing to repeat"},
		{func(s *RaceSpec) { s.Metrics[1].Name = "t" }, "metrics[1].name", "is the name of metrics[0] already"},
		{func(s *RaceSpec) { s.Stop = "never" }, "stop", `"never" is no rule`},
		{func(s *RaceSpec) { s.Stop = StopDeadline }, "stop", "there is no deadline"},
		{func(s *RaceSpec) { s.Deadline = -1 }, "deadline", "below zero"},
		{func(s *RaceSpec) { s.Timeout = math.MaxInt64 }, "timeout", "more than a year"},
		{func(s *RaceSpec) { s.Parallel = -1 }, "parallel", "below zero"},
		{func(s *RaceSpec) { s.Retries = 11 }, "retries", "10 is the most"},
		{func(s *RaceSpec) { s.TieBreaks = []TieBreak{"luck"} }, "tie_breaks[0]", "is no tie-break"},
		{func(s *RaceSpec) { s.TieBreaks = []TieBreak{Faster, Faster} }, "tie_breaks[1]", "is there twice"},
		{func(s *RaceSpec) { s.TieBreaks = []TieBreak{Faster, NoTieBreak} }, "tie_breaks[1]", "leaves no room"},
		{func(s *RaceSpec) {
			s.Approaches[0].Steps = slices.Repeat([]Command{{Run: strings.Repeat("x", 100_000)}}, 11)
		}, "race", "1048576 is the most"},
		{func(s *RaceSpec) { s.TieBreaks = slices.Repeat([]TieBreak{Faster}, 1000) }, "tie_breaks", "4 is the most"},
	} {
		c.check(t)
	}
}

func (c raceFaultCase) check(t *testing.T) {
	t.Helper()
	s := soundRace()
	c.spoil(&s)
	var e *Error
	if err := s.Check(); !errors.As(err, &e) || e.Code != Invalid || len(e.Items) == 0 {
		t.Errorf("%s: %v", c.at, err)
	} else if e.Items[0].Path != c.at || !strings.Contains(e.Items[0].Why, c.why) || len(e.Items[0].Why) > 400 {
		t.Errorf("%+v, not %s: %s", e.Items, c.at, c.why)
	}
}

// TestRaceCheckIsBounded: what is wrong a thousand times is said some times.
func TestRaceCheckIsBounded(t *testing.T) {
	s := RaceSpec{}
	for range 256 {
		s.Approaches = append(s.Approaches, Approach{Name: strings.Repeat("\x00", 10_000), Steps: slices.Repeat([]Command{{Env: Strings{strings.Repeat("\xff", 10_000)}}}, 100)})
	}
	err := s.Check()
	text, _ := json.Marshal(err)
	if err == nil || len(text) > 64<<10 || len(err.Error()) > 1000 {
		t.Errorf("%d bytes: %.300v", len(text), err)
	}
}

func TestParseJSONPath(t *testing.T) {
	for text, want := range map[string]string{
		"a":                `"a"`,
		"a.b[0].c":         `"a" "b" [0] "c"`,
		`["odd key"].x`:    `"odd key" "x"`,
		`$.a`:              `"a"`,
		`.a`:               `"a"`,
		`[1][2]`:           `[1] [2]`,
		`a["q\"]"]`:        `"a" "q\"]"`,
		`latency.p99 (ms)`: `"latency" "p99 (ms)"`,
	} {
		steps, err := ParseJSONPath(text)
		var got []string
		for _, s := range steps {
			got = append(got, s.String())
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "$", ".", "a..b", "a.", "a[", "a[]", "a[-1]", "a[x]", `a["x]`, `a["x"`, "a[0]b", "a]", `a"b`, "a[99999999999]", "[`x`]", strings.Repeat("a.", 5000)} {
		if steps, err := ParseJSONPath(text); err == nil || len(fmt.Sprint(err)) > 200 {
			t.Errorf("%.50q: %v, %.300v", text, steps, err)
		}
	}
}
