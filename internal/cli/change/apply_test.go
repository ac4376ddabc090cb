package change

import (
	"reflect"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/place"
)

func TestApplyArguments(t *testing.T) {
	dir := t.TempDir()
	at := place.Place{Dir: dir}
	real, err := at.Path("x")
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
		l := &Lander{App: new(app.App), hunks: row.hunks}
		got, err := l.Parse(at, row.args)
		if err != nil || !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: %+v, %v; want %+v", row.name, got, err, row.want)
		}
	}
}

func TestApplyRefusesWhatMakesNoSense(t *testing.T) {
	inJSON := new(app.App)
	inJSON.JSON = true
	for name, l := range map[string]*Lander{
		"conflict":  {App: new(app.App), conflict: "mine"},
		"no hunk":   {App: new(app.App), hunks: []string{"file"}},
		"hunk zero": {App: new(app.App), hunks: []string{"file:0"}},
		"no number": {App: new(app.App), hunks: []string{"file:one"}},
		"no file":   {App: new(app.App), hunks: []string{":1"}},
		"json":      {App: inJSON, Interactive: true},
	} {
		if spec, err := l.Parse(place.Place{Dir: "/"}, nil); err == nil {
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
