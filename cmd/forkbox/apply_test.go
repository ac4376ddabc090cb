package main

import (
	"reflect"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestApplyArguments(t *testing.T) {
	dir := t.TempDir()
	at := place{dir}
	real, err := at.path("x")
	if err != nil {
		t.Fatal(err)
	}
	hunks := func(path string, n ...int) []forkbox.HunkSelection {
		return []forkbox.HunkSelection{{Path: path, Hunks: n}}
	}
	for _, row := range []struct {
		name  string
		hunks []string
		args  []string
		want  forkbox.ApplySpec
	}{
		{"the workspace", nil, nil, forkbox.ApplySpec{}},
		{"a path", nil, []string{"x"}, forkbox.ApplySpec{Selection: forkbox.Selection{Paths: forkbox.Strings{real}}}},
		// Only these: an empty selection would mean the workspace.
		{"hunks", []string{"x:1,3"}, nil, forkbox.ApplySpec{
			Selection: forkbox.Selection{Paths: forkbox.Strings{real}, Exact: true}, Hunks: hunks(real, 1, 3)}},
		{"hunks said twice", []string{"x:1", "x:3"}, nil, forkbox.ApplySpec{
			Selection: forkbox.Selection{Paths: forkbox.Strings{real}, Exact: true}, Hunks: hunks(real, 1, 3)}},
		{"hunks and a path", []string{"x:2"}, []string{"/etc"}, forkbox.ApplySpec{
			Selection: forkbox.Selection{Paths: forkbox.Strings{"/etc", real}}, Hunks: hunks(real, 2)}},
	} {
		l := &lander{app: new(app), hunks: row.hunks}
		got, err := l.parse(at, row.args)
		if err != nil || !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: %+v, %v; want %+v", row.name, got, err, row.want)
		}
	}
}

func TestApplyRefusesWhatMakesNoSense(t *testing.T) {
	inJSON := new(app)
	inJSON.json = true
	for name, l := range map[string]*lander{
		"conflict":  {app: new(app), conflict: "mine"},
		"no hunk":   {app: new(app), hunks: []string{"file"}},
		"hunk zero": {app: new(app), hunks: []string{"file:0"}},
		"no number": {app: new(app), hunks: []string{"file:one"}},
		"no file":   {app: new(app), hunks: []string{":1"}},
		"json":      {app: inJSON, interactive: true},
	} {
		if spec, err := l.parse(place{"/"}, nil); err == nil {
			t.Errorf("%s: taken for %+v", name, spec)
		}
	}
}

func TestConflictChoices(t *testing.T) {
	for word, want := range map[string]forkbox.ConflictChoice{
		"": forkbox.Refuse, "theirs": forkbox.Theirs, "ours": forkbox.Ours, "markers": forkbox.Markers,
	} {
		if got, err := parseConflict(word); err != nil || got != want {
			t.Errorf("%q: %q, %v", word, got, err)
		}
	}
}
