//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIndifferentTestsExist: the list follows the tests that it names.
func TestIndifferentTestsExist(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", program, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, name := range indifferent {
		if !strings.Contains(all.String(), "\nfunc "+name+"(t *testing.T) {") {
			t.Errorf("there is no test %s in %s", name, program)
		}
	}
}

// events are those of a package as test2json writes them.
func events(lines ...string) *strings.Reader {
	var text strings.Builder
	for _, line := range lines {
		action, test, _ := strings.Cut(line, " ")
		text.WriteString(`{"Action":"` + action + `","Package":"p","Test":"` + test + `"}` + "\n")
	}
	return strings.NewReader(text.String())
}

func TestSkippedIsWhatRanAsNeitherUser(t *testing.T) {
	var r report
	for _, as := range []*strings.Reader{
		events("skip TestForUsers", "pass TestForRoot", "skip TestForNobody", "pass"),
		events("pass TestForUsers", "skip TestForRoot", "skip TestForNobody", "pass"),
	} {
		if err := r.listen(job{}, as); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.skipped(); len(got) != 1 || got[0] != "p TestForNobody" {
		t.Errorf("skipped: %q", got)
	}
	if r.failed() {
		t.Error("it failed")
	}
}

func TestFailures(t *testing.T) {
	for name, lines := range map[string][]string{
		"a test":                    {"pass TestA", "fail TestB", "fail"},
		"as one user of two":        {"fail TestA", "fail", "pass TestA", "pass"},
		"what is no test's failure": {"pass TestA", "fail"},
	} {
		var r report
		if err := r.listen(job{}, events(lines...)); err != nil {
			t.Fatal(err)
		}
		if !r.failed() {
			t.Errorf("%s: it did not fail", name)
		}
	}
	var r report
	if err := r.listen(job{}, strings.NewReader("no events")); err == nil {
		t.Error("what is no event was taken for one")
	}
}

func TestCount(t *testing.T) {
	var r report
	if err := r.listen(job{}, events("pass TestA", "pass TestA/x", "fail TestB")); err != nil {
		t.Fatal(err)
	}
	var line strings.Builder
	if r.count(&line); line.String() != "2 passed, 1 failed\n" {
		t.Errorf("it says %q", line.String())
	}
}
