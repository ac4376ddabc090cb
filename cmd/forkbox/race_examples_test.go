//go:build linux

package main

import (
	"errors"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestExamples runs them as their README says, each in a copy of its own. What
// an example shows is what has to come out.
func TestExamples(t *testing.T) {
	t.Parallel()
	cache := warmCache(t)
	for name, run := range map[string]func(*raceWorld){
		"failing-test": exampleFailingTest, "speed": exampleSpeed, "port": examplePort, "upgrade": exampleUpgrade,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(newExample(t, name, cache))
		})
	}
}

func exampleFailingTest(w *raceWorld) {
	r := w.raceExample("spread", map[string]forkbox.Outcome{
		"spread": forkbox.OutcomePassed, "first": forkbox.OutcomeFailed, "round": forkbox.OutcomeFailed,
	})
	if failed := failedChecks(r, "first"); !slices.Equal(failed, []string{"fair"}) {
		w.Errorf("first fails %q", failed)
	}
	if failed := failedChecks(r, "round"); !slices.Equal(failed, []string{"compiles", "adds up", "fair"}) {
		w.Errorf("round fails %q", failed)
	}
	w.testsOfReality(false)
	w.must("race", "apply", "failing-test")
	w.testsOfReality(true)
	w.must("undo")
	w.testsOfReality(false)
}

func exampleSpeed(w *raceWorld) {
	r := w.raceExample("table", map[string]forkbox.Outcome{
		"table": forkbox.OutcomePassed, "literal": forkbox.OutcomePassed, "make": forkbox.OutcomePassed,
	})
	table, literal, other := w.entryOf(r, "table"), w.entryOf(r, "literal"), w.entryOf(r, "make")
	if table.Rank != 1 || len(table.Ties) != 0 {
		w.Errorf("table has the rank %d and ties with %q", table.Rank, table.Ties)
	}
	if literal.Rank != 2 || other.Rank != 2 || !slices.Contains(literal.Ties, "make") || !slices.Contains(other.Ties, "literal") {
		w.Errorf("what is the same is no tie:\n%+v\n%+v", literal, other)
	}
	for _, e := range r.Entries {
		if len(e.Metrics) != 1 || len(e.Metrics[0].Values) < 10 {
			w.Errorf("%s was measured too seldom: %+v", e.Name, e.Metrics)
		}
	}
}

func examplePort(w *raceWorld) {
	// Reality's port 8000 is in use, by this test or by a process that has it already.
	listener, err := net.Listen("tcp", "127.0.0.1:8000")
	if err == nil {
		defer listener.Close()
	} else if !errors.Is(err, syscall.EADDRINUSE) {
		w.Fatal(err)
	}
	r := w.raceExample("counter", map[string]forkbox.Outcome{
		"counter": forkbox.OutcomePassed, "row": forkbox.OutcomePassed, "batch": forkbox.OutcomeFailed,
	})
	if len(w.entryOf(r, "counter").Metrics) != 1 || len(w.entryOf(r, "row").Metrics) != 1 {
		w.Fatalf("the files were not measured: %+v", r.Entries)
	}
	small, large := w.entryOf(r, "counter").Metrics[0].Median, w.entryOf(r, "row").Metrics[0].Median
	if small <= 0 || small >= large {
		w.Errorf("the files have %v and %v bytes", small, large)
	}
	for _, e := range r.Entries {
		if !slices.Equal(e.Diff.Paths, forkbox.Strings{filepath.Join(w.ws, "store.py")}) {
			w.Errorf("%s changed %q", e.Name, e.Diff.Paths)
		}
	}
	if out, errs, _ := w.cli("race", "log", "port", "batch"); !strings.Contains(out+errs, "300 visits were counted, and 294 saved") {
		w.Errorf("the transcript of batch is %s%s", out, errs)
	}
}

func exampleUpgrade(w *raceWorld) {
	r := w.raceExample("adapted", map[string]forkbox.Outcome{
		"adapted": forkbox.OutcomePassed, "pinned": forkbox.OutcomePassed, "upgrade": forkbox.OutcomeFailed,
	})
	if failed := failedChecks(r, "upgrade"); !slices.Equal(failed, []string{"tests"}) {
		w.Errorf("upgrade fails %q", failed)
	}
	if failed := failedChecks(r, "pinned"); !slices.Equal(failed, []string{"up to date"}) {
		w.Errorf("pinned fails %q", failed)
	}
	risks := w.entryOf(r, "adapted").Risks
	if !slices.ContainsFunc(risks, func(c forkbox.Caution) bool { return filepath.Base(c.Path) == "go.sum" }) {
		w.Errorf("nobody is told to look at go.sum: %v", risks)
	}
	w.must("race", "apply", "upgrade", "--yes")
	if text := w.reality("go.mod") + w.reality("hello.go"); !strings.Contains(text, "v1.1.0") || !strings.Contains(text, "greet.Loud") {
		w.Errorf("reality is\n%s", text)
	}
}

// warmCache has compiled what all the examples in Go need. Each of them would
// do it in its setup, and an unprivileged user of a test has no cache.
func warmCache(t *testing.T) (variable string) {
	t.Helper()
	variable = "GOCACHE=" + t.TempDir()
	cmd := exec.Command("go", "test", "-run", "^$", "./...")
	cmd.Dir, cmd.Env = filepath.Join(examplesDir(t), "failing-test"), append(os.Environ(), variable)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return variable
}

// newExample is a world whose workspace is a copy of an example.
func newExample(t *testing.T, name, cache string) *raceWorld {
	t.Helper()
	w := newRaceWorld(t, cache)
	w.ok(os.CopyFS(w.ws, os.DirFS(filepath.Join(examplesDir(t), name))))
	// The build cache that a setup leaves is large: it takes a while to delete,
	// and a daemon that is told to stop leaves the rest to the next one.
	t.Cleanup(func() {
		w.clear()
		w.until("the trash is empty", func() bool {
			left, err := os.ReadDir(filepath.Join(w.home, "trash"))
			return len(left) == 0 && (err == nil || os.IsNotExist(err))
		})
	})
	return w
}

// examplesDir is beside this package, or where it was put for a test binary that
// is run on its own.
func examplesDir(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{"../../examples", "../examples"} {
		if _, err := os.Stat(dir + "/README.md"); err == nil {
			return dir
		}
	}
	t.Fatal("the examples are not beside the test")
	return ""
}

// raceExample runs race.yaml. It finds the winner, the outcomes, and a reality
// in which nothing has changed.
func (w *raceWorld) raceExample(winner string, outcomes map[string]forkbox.Outcome) forkbox.Race {
	w.Helper()
	before := w.tree()
	out := w.must("race", "-f", "race.yaml")
	r := w.show("") // the newest
	got := map[string]forkbox.Outcome{}
	for _, e := range r.Entries {
		got[e.Name] = e.Outcome
	}
	if r.Winner != winner || !maps.Equal(got, outcomes) {
		w.Fatalf("%q wins; the outcomes are %v\n%s\n%s", r.Winner, got, out, w.log())
	}
	if !strings.Contains(out, r.Verdict) {
		w.Errorf("the verdict %q is not in\n%s", r.Verdict, out)
	}
	if after := w.tree(); !maps.Equal(before, after) {
		w.Errorf("reality was\n%v\nand is\n%v", before, after)
	}
	return r
}

// tree is every file of the workspace in reality with its content.
func (w *raceWorld) tree() map[string]string {
	w.Helper()
	all := map[string]string{}
	w.ok(filepath.WalkDir(w.ws, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	}))
	return all
}

// testsOfReality runs the example's own tests, in no box.
func (w *raceWorld) testsOfReality(pass bool) {
	w.Helper()
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir, cmd.Env = w.ws, append(os.Environ(), w.env...)
	out, err := cmd.CombinedOutput()
	if passed := err == nil; passed != pass {
		w.Errorf("in reality the tests pass: %v\n%s", passed, out)
	}
}

func (w *raceWorld) entryOf(r forkbox.Race, name string) forkbox.Entry {
	w.Helper()
	i := slices.IndexFunc(r.Entries, func(e forkbox.Entry) bool { return e.Name == name })
	if i < 0 {
		w.Fatalf("there is no %s", name)
	}
	return r.Entries[i]
}

func failedChecks(r forkbox.Race, approach string) (names []string) {
	for _, e := range r.Entries {
		for _, c := range e.Checks {
			if e.Name == approach && !c.Passed {
				names = append(names, c.Name)
			}
		}
	}
	return names
}
