package risk

import (
	"testing"

	"github.com/forkbox/forkbox"
)

func guardOf(protect []string, checks ...string) *Guard {
	spec := forkbox.RaceSpec{Protect: protect}
	for _, run := range checks {
		spec.Checks = append(spec.Checks, forkbox.RaceCheck{Command: forkbox.Command{Run: run}})
	}
	return NewGuard(spec, "/w", "/w/a")
}

// TestGuard: what judges is guarded, and what a check names to have it judged
// is not.
func TestGuard(t *testing.T) {
	g := guardOf(nil, "./check.sh && python3 main.py | grep ok data", "pytest tests src", "sh tools/run-bench.sh", "/opt/verify")
	for p, want := range map[string]bool{
		"/w/a/check.sh": true, "/w/a/tests/test_a.py": true, "/w/a/tests/data.txt": true, "/w/a/src/test_b.py": true, "/w/a/tools/run-bench.sh": true, "/opt/verify": true,
		"/w/a/main.py": false, "/w/a/data": false, "/w/a/src/main.py": false, "/w/a/other-check.sh": false, "/w/check.sh": false,
	} {
		if got := g.Guards(modified(p)); got != want {
			t.Errorf("%s: %v", p, got)
		}
	}
	for name, c := range map[string]struct {
		change forkbox.Change
		want   bool
	}{
		"deleted":              {forkbox.Change{Path: "/w/a/check.sh", Kind: forkbox.Deleted, Type: "file"}, true},
		"added":                {forkbox.Change{Path: "/w/a/tests/test_new.py", Kind: forkbox.Added, Type: "file"}, false},
		"moved away":           {forkbox.Change{Path: "/w/a/x", From: "/w/a/check.sh", Kind: forkbox.Renamed, Type: "file"}, true},
		"moved there":          {forkbox.Change{Path: "/w/a/check.sh", From: "/w/a/x", Kind: forkbox.Renamed, Type: "file"}, false},
		"its directory went":   {forkbox.Change{Path: "/w/a/tools", Kind: forkbox.Deleted, Type: "dir"}, true},
		"its directory moved":  {forkbox.Change{Path: "/w/a/z", From: "/w/a/tools", Kind: forkbox.Renamed, Type: "dir"}, true},
		"a link in its place":  {forkbox.Change{Path: "/w/a/tools", Kind: forkbox.Type, Type: "symlink"}, true},
		"another one went":     {forkbox.Change{Path: "/w/a/src", Kind: forkbox.Deleted, Type: "dir"}, false},
		"built, and ignored":   {forkbox.Change{Path: "/w/a/check.sh", Kind: forkbox.Modified, Type: "file", Scope: forkbox.Noise}, false},
		"only its mode":        {forkbox.Change{Path: "/w/a/check.sh", Kind: forkbox.Mode, Type: "file"}, true},
		"mode of a directory":  {forkbox.Change{Path: "/w/a/tools", Kind: forkbox.Mode, Type: "dir"}, false},
		"the directory itself": {forkbox.Change{Path: "/w/a", Kind: forkbox.Mode, Type: "dir"}, false},
	} {
		if got := g.Guards(c.change); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestGuardOfWhatIsListed: what the race protects is guarded, also where an
// approach adds to it and where it is ignored.
func TestGuardOfWhatIsListed(t *testing.T) {
	g := guardOf([]string{"*.golden", "suite/data/in.txt", "./only"}, "./check.sh")
	for name, c := range map[string]struct {
		change forkbox.Change
		want   bool
	}{
		"added":          {forkbox.Change{Path: "/w/a/x/y.golden", Kind: forkbox.Added, Type: "file"}, true},
		"ignored":        {forkbox.Change{Path: "/w/a/x/y.golden", Kind: forkbox.Modified, Type: "file", Scope: forkbox.Noise}, true},
		"elsewhere":      {forkbox.Change{Path: "/w/y.golden", Kind: forkbox.Modified, Type: "file"}, false},
		"may have gone":  {forkbox.Change{Path: "/w/a/x", Kind: forkbox.Deleted, Type: "dir"}, true},
		"the check, too": {modified("/w/a/check.sh"), true},
		"here":           {modified("/w/a/only"), true},
		"not at a depth": {modified("/w/a/x/only"), false},
	} {
		if got := g.Guards(c.change); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	exact := guardOf([]string{"suite/data/in.txt"}, "true")
	for dir, want := range map[string]bool{"/w/a/suite": true, "/w/a/suite/data": true, "/w/a/sui": false, "/w/a/src": false} {
		if got := exact.Guards(forkbox.Change{Path: dir, Kind: forkbox.Deleted, Type: "dir"}); got != want {
			t.Errorf("%s went: %v", dir, got)
		}
	}
	if guardOf([]string{"none"}, "./check.sh").Guards(modified("/w/a/check.sh")) {
		t.Error("a race that protects nothing does")
	}
}
