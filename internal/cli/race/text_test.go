package race

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
)

func TestRaceSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 1: "1ms", 320 * time.Millisecond: "320ms", 999 * time.Millisecond: "999ms", 1250 * time.Millisecond: "1.2s",
		59940 * time.Millisecond: "59.9s", 59960 * time.Millisecond: "1m00s", 123 * time.Second: "2m03s", 59*time.Minute + 59900*time.Millisecond: "1h00m",
		25*time.Hour + 61*time.Second: "25h01m",
	} {
		if got := raceSpan(d); got != want {
			t.Errorf("%v is %q, not %q", d, got, want)
		}
	}
}

func TestRaceMeasure(t *testing.T) {
	for _, row := range []struct {
		m    forkbox.Measured
		want string
	}{
		{forkbox.Measured{}, "-"},
		{forkbox.Measured{Values: []float64{3}, Median: 3}, "3"},
		{forkbox.Measured{Values: []float64{1.1, 1.1}, Median: 1.1, Low: 1.08, High: 1.12, Unit: "s"}, "1.10 ± 0.02 s"},
		{forkbox.Measured{Values: []float64{1, 2}, Median: 0.0123456, Low: 0.0119, High: 0.0127, Unit: "s"}, "12.3 ± 0.4 ms"},
		{forkbox.Measured{Values: []float64{1, 2}, Median: 0.0000123, Low: 0.0000123, High: 0.0000123, Unit: "s"}, "12.3 ± 0.0 µs"},
		{forkbox.Measured{Values: []float64{1}, Median: 1234567, Unit: "bytes"}, "1234567 bytes"},
		{forkbox.Measured{Values: []float64{1}, Median: 0.05, Unit: "\x1b[31m"}, `0.050 "\x1b[31m"`},
		{forkbox.Measured{Values: []float64{1}, Median: 123.456}, "123"},
		{forkbox.Measured{Values: []float64{1}, Median: 1e-9}, "1e-09"},
		{forkbox.Measured{Values: []float64{1}, Median: -2.5}, "-2.50"},
		{forkbox.Measured{Values: []float64{1}, Median: math.MaxFloat64}, "1.8e+308"},
	} {
		if got := raceMeasure(row.m); got != row.want {
			t.Errorf("%+v is %q, not %q", row.m, got, row.want)
		}
	}
}

// someResult has all that a result can have.
func someResult() forkbox.Race {
	fast := []float64{1.1, 1.1, 1.1}
	return forkbox.Race{
		ID: "r1", Name: "fix", State: forkbox.RaceFinished, Created: time.Unix(1000, 0), Ended: time.Unix(1012, 0), Resumed: 1,
		Spec: forkbox.RaceSpec{
			Checks:  []forkbox.RaceCheck{{Command: forkbox.Command{Run: "npm test"}, Must: true}, {Command: forkbox.Command{Run: "lint"}}},
			Metrics: []forkbox.Metric{{Command: forkbox.Command{Run: "npm run build"}, Time: true, Unit: "s"}},
		},
		Entries: []forkbox.Entry{
			{
				Name: "patch", Box: "b1", Phase: forkbox.PhaseDone, Outcome: forkbox.OutcomePassed, Rank: 1, Score: 1, Took: 3200 * time.Millisecond, CPU: 2 * time.Second, MemoryPeak: 120 << 20,
				Checks:  []forkbox.Checked{{Name: "npm test", Passed: true, Runs: []forkbox.Ran{exited(0)}}, {Name: "lint", Passed: true, Runs: []forkbox.Ran{exited(0)}}},
				Metrics: []forkbox.Measured{{Name: "build", Unit: "s", Values: fast, Median: 1.1, Low: 1.08, High: 1.12}},
				Diff:    forkbox.DiffSize{Files: 1, Plus: 3, Minus: 1}, Risks: []forkbox.Caution{{Path: "/w/package-lock.json", Why: "a lock file changed"}},
			},
			{
				Name: "dep\x1b[2J", Box: "b2", Phase: forkbox.PhaseDone, Outcome: forkbox.OutcomeFlaky, Rank: 2, Ties: []string{"x"}, Score: 0.75, Took: time.Second, Attempt: 2, Refused: 3,
				Why: "npm test is flaky", Checks: []forkbox.Checked{{Name: "npm test", Passed: true, Flaky: true, Runs: []forkbox.Ran{exited(0), exited(1), exited(0)}}, {Name: "lint", Runs: []forkbox.Ran{exited(1)}}},
				Metrics: []forkbox.Measured{{Name: "build", Why: "it never ended"}}, Diff: forkbox.DiffSize{Files: 2, Plus: 30, System: 4},
			},
			{Name: "revert", Phase: forkbox.PhaseDone, Outcome: forkbox.OutcomeError, Rank: 3, Why: "there is no room"},
		},
		Winner: "patch", Verdict: "patch wins: it passes every check.", Notes: []string{"dep has limits of its own"},
	}
}

func TestRaceResult(t *testing.T) {
	var out bytes.Buffer
	if err := writeRaceResult(&out, someResult()); err != nil {
		t.Fatal(err)
	}
	want := `race fix: finished, 3 approaches, 12.0s, through 2 daemons

RANK  NAME            OUTCOME  CHECKS  SCORE  npm run build  TIME  CPU   MEMORY  DIFF                     NOTES
1     patch           passed   2/2     1.00   1.10 ± 0.02 s  3.2s  2.0s  120m    1 file +3 -1             1 risk
2=    "dep\x1b[2J"    flaky    1/2     0.75   -              1.0s  -     -       2 files +30 -0, 4 system  1 flaky check, 3 refused, attempt 2
3     revert          error    -       -      -              -     -     -       -

patch wins: it passes every check.

"dep\x1b[2J": npm test is flaky
"dep\x1b[2J": check npm test is flaky: it passed 2/3
"dep\x1b[2J": build: it never ended
revert: there is no room

risks:
  patch: /w/package-lock.json: a lock file changed

note: dep has limits of its own
`
	squeeze := func(text string) string {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = strings.Join(strings.Fields(line), " ")
		}
		return strings.Join(lines, "\n")
	}
	if squeeze(out.String()) != squeeze(want) {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestColumns: wide characters take two, and an empty cell keeps its place.
func TestColumns(t *testing.T) {
	got := inColumns([][]string{{"NAME", "漢字", "DIFF", "NOTES"}, {"a", "1", "none", ""}, {"b", "22222", "1 file", "2 risks"}})
	want := "NAME  漢字   DIFF    NOTES\na     1      none\nb     22222  1 file  2 risks\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestDiffText(t *testing.T) {
	for want, d := range map[string]forkbox.DiffSize{
		"none": {}, "directories only": {Paths: forkbox.Strings{"/w/d"}}, "1 file +2 -1": {Files: 1, Plus: 2, Minus: 1, Paths: forkbox.Strings{"/w/a"}}, "3 system": {System: 3},
	} {
		if got := diffText(d); got != want {
			t.Errorf("%+v is %q, not %q", d, got, want)
		}
	}
}

// TestSilence: nothing was printed, or nothing of it was kept.
func TestSilence(t *testing.T) {
	race := someResult()
	if got := silence(race, "patch"); got != "it printed nothing" {
		t.Error(got)
	}
	race.State = forkbox.RaceFailed
	if got := silence(race, ""); !strings.Contains(got, "not kept") || !strings.Contains(got, "forkbox race show fix") {
		t.Error(got)
	}
	if err := noSetup(race); forkbox.CodeOf(err) != forkbox.NotFound || strings.Contains(err.Error(), `""`) {
		t.Error(err)
	}
	execs := []forkbox.Exec{
		{Argv: forkbox.Strings{"yes"}, Label: "a1/step/0", Output: &forkbox.Output{Kept: 16e6, Dropped: 5e6}},
		{Argv: forkbox.Strings{"no"}, Label: "a1/step/1", Output: &forkbox.Output{Kept: 3}}, {Label: "a1/step/2"},
	}
	if got := cutNotes(execs); len(got) != 1 || !strings.HasPrefix(got[0], "note: of yes the first 16") {
		t.Errorf("%q", got)
	}
}

func TestRaceExit(t *testing.T) {
	var said bytes.Buffer
	a := app.New("", nil, nil, &said)
	race := someResult()
	if err := raceExit(a, race); err != nil {
		t.Error(err)
	}
	race.Winner = ""
	if err := raceExit(a, race); err != nobodyWon {
		t.Error(err)
	}
	race.State, race.Why = forkbox.RaceFailed, "cannot set up the race: npm ci failed (exit 7):\nthe disk is blue\nx\x1b[2J"
	err := raceExit(a, race)
	if err == nil || err.Error() != "cannot set up the race: npm ci failed (exit 7)" || forkbox.CodeOf(err).ExitCode() != 125 {
		t.Error(err)
	}
	if got := said.String(); got != "  the disk is blue\n  \"x\\x1b[2J\"\n" {
		t.Errorf("%q", got)
	}
	race.Why = ""
	if err := raceExit(a, race); err == nil || err.Error() != "cannot run race fix: it failed" {
		t.Error(err)
	}
}

// flagsOf parses a command line of race.
func flagsOf(t *testing.T, args ...string) (*raceFlags, *cobra.Command) {
	t.Helper()
	f, cmd := &raceFlags{}, &cobra.Command{}
	f.add(new(app.App), cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return f, cmd
}

func TestPlanOfFlags(t *testing.T) {
	f, cmd := flagsOf(t, "--name", "fix", "--try", "a=x", "--try", "b=y", "--setup", "s", "--check", "c1", "--check", "c2", "--time", "m", "--stop", "first-pass",
		"--deadline", "10m", "--timeout", "1m", "--parallel", "2", "--retries", "1", "--seed", "7", "--tie-break", "faster", "--tie-break", "fewer-files",
		"--protect", "Makefile", "--protect", "*.golden")
	spec, err := f.plan(cmd)
	want := forkbox.RaceSpec{
		Name: "fix", Setup: []forkbox.Command{{Run: "s"}},
		Approaches: []forkbox.Approach{{Name: "a", Steps: []forkbox.Command{{Run: "x"}}}, {Name: "b", Steps: []forkbox.Command{{Run: "y"}}}},
		Checks:     []forkbox.RaceCheck{{Command: forkbox.Command{Run: "c1"}, Must: true}, {Command: forkbox.Command{Run: "c2"}, Must: true}},
		Metrics:    []forkbox.Metric{{Command: forkbox.Command{Run: "m"}, Time: true, Unit: "s"}},
		Protect:    forkbox.Strings{"Makefile", "*.golden"},
		TieBreaks:  []forkbox.TieBreak{forkbox.Faster, forkbox.FewerFiles}, Stop: forkbox.StopFirstPass,
		Deadline: 10 * time.Minute, Timeout: time.Minute, Parallel: 2, Retries: 1, Seed: 7,
	}
	if err != nil || !reflect.DeepEqual(spec, want) {
		t.Errorf("%v\n%+v", err, spec)
	}
}

// TestPlanOfFile: flags override what a file says of the whole race, and nothing
// else.
func TestPlanOfFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "race.yaml")
	text := "name: filed\nseed: 3\nparallel: 4\nfrom: base@green\napproaches: [{name: a, run: x}]\npolicy: {limits: {memory: 1g, pids: 9}, net: policy, allow: [a.example]}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	f, cmd := flagsOf(t, "-f", file, "--seed", "9", "--memory", "2g", "--deny", "b.example")
	spec, err := f.plan(cmd)
	if err != nil || spec.Name != "filed" || spec.Seed != 9 || spec.Parallel != 4 {
		t.Fatalf("%v %+v", err, spec)
	}
	f.merge(spec.Start)
	if f.box.From != "base@green" || f.box.Limits.Limits[forkbox.Memory] != 2<<30 || f.box.Limits.Limits[forkbox.Pids] != 9 {
		t.Errorf("from %q, limits %v", f.box.From, f.box.Limits.Limits)
	}
	if want := []string{"deny b.example", "allow a.example"}; f.box.Net.Net != "policy" || !reflect.DeepEqual(f.box.Net.Rules, want) {
		t.Errorf("net %q, rules %q", f.box.Net.Net, f.box.Net.Rules)
	}
	f, _ = flagsOf(t, "--net", "none")
	f.merge(spec.Start)
	if err := f.box.Net.Check(); err != nil || len(f.box.Net.Rules) > 0 {
		t.Errorf("a flag that closes the network has the file's rules: %v %q", err, f.box.Net.Rules)
	}
	f, _ = flagsOf(t, "--template", "t")
	if f.merge(spec.Start); f.box.From != "" {
		t.Errorf("from %q beside a template", f.box.From)
	}
	for _, flag := range triedFlags {
		f, cmd := flagsOf(t, "-f", file, "--"+flag, map[string]string{"n": "2", "tie-break": "faster"}[flag]+"")
		if _, err := f.plan(cmd); err == nil || !strings.Contains(err.Error(), "--"+flag) {
			t.Errorf("--%s beside -f: %v", flag, err)
		}
	}
}

func TestPromptText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(file, []byte("do\nit\n\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]string{"plain": "plain", "@@me": "@me", "a@b": "a@b", "@" + file: "do\nit\n", "": ""} {
		if got, err := promptText(arg); err != nil || got != want {
			t.Errorf("%q is %q, not %q: %v", arg, got, want, err)
		}
	}
	if _, err := promptText("@" + file + "-not"); forkbox.CodeOf(err) != forkbox.Invalid {
		t.Error(err)
	}
}
