package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHistoryIsReadable: the history that is kept in the tree has a last line
// to compare with, and that line knows the cases that are measured today.
func TestHistoryIsReadable(t *testing.T) {
	last, err := lastRelease("../../bench/history.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{caseFirst, caseLife, caseExec, caseVersion, caseRun, caseCold} {
		if last.Ratios[name] <= 0 {
			t.Errorf("%s does not say how long %q took", last.Version, name)
		}
	}
	if last.Version == "" || last.Date == "" || last.Machine.CPUs == 0 {
		t.Errorf("something is missing: %+v", last)
	}
}

// TestRecordedIsLast: what was recorded is what the next run is compared with.
func TestRecordedIsLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	r := &report{}
	for name, ms := range map[string]float64{caseBare: 1, caseBwrap: 4, caseFirst: 5, caseExec: 2} {
		r.Rows = append(r.Rows, row{Name: name, Median: ms})
	}
	r.judge()
	for _, version := range []string{"v1", "v2"} {
		made, err := newRelease(version, r)
		if err != nil {
			t.Fatal(err)
		}
		if err := recordRelease(path, made); err != nil {
			t.Fatal(err)
		}
	}
	last, err := lastRelease(path)
	if err != nil {
		t.Fatal(err)
	}
	if last.Version != "v2" || len(last.Ratios) != 2 || last.Ratios[caseFirst] != 1.25 || last.Ratios[caseExec] != 0.5 {
		t.Errorf("the last line is %+v", last)
	}
	if text, _ := os.ReadFile(path); strings.Count(string(text), "\n") != 2 {
		t.Errorf("the history is\n%s", text)
	}
}

func TestWithoutBubblewrapThereIsNothingToRecord(t *testing.T) {
	r := &report{Rows: []row{{Name: caseBwrap, Note: "not installed"}, {Name: caseFirst, Median: 5}}}
	r.judge()
	if _, err := newRelease("v1", r); err == nil {
		t.Error("a release without ratios was made")
	}
}

// TestSlowerByMoreThanATenthFails, and a case that is gone does, too.
func TestSlowerByMoreThanATenthFails(t *testing.T) {
	last := release{Version: "v1", Ratios: map[string]float64{caseFirst: 1, caseExec: 0.5}}
	for _, c := range []struct {
		name  string
		now   map[string]float64
		fails string
	}{
		{"as before", map[string]float64{caseFirst: 1, caseExec: 0.5}, ""},
		{"within a tenth", map[string]float64{caseFirst: 1.09, caseExec: 0.54}, ""},
		{"faster", map[string]float64{caseFirst: 0.2, caseExec: 0.1}, ""},
		{"slower", map[string]float64{caseFirst: 1.12, caseExec: 0.5}, caseFirst},
		{"not measured", map[string]float64{caseFirst: 1}, caseExec},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			err := compareReleases(&out, last, release{Ratios: c.now})
			if (err == nil) != (c.fails == "") || err != nil && !strings.HasSuffix(err.Error(), ": "+c.fails) {
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
}
