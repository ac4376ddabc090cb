//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestRaceSetup runs once; every approach begins with what it left, and none
// sees what another did.
func TestRaceSetup(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	r := w.raceOf(`
name: shared
setup: [echo once >> setup, {run: date +%s%N > moment, name: the moment}]
approaches:
  - {name: a, run: 'echo a >> setup; echo more > a'}
  - {name: b, run: 'echo b >> setup'}
  - {name: c, run: 'echo c >> setup'}
checks: [test "$(wc -l < setup)" = 2 && test "$(head -1 setup)" = once]
`)
	w.is(r, "b=c a", "a:passed b:passed c:passed")
	moments := map[string]bool{}
	for _, e := range r.Entries {
		moments[w.sh(e.Box, "cat moment")] = true
	}
	if len(moments) != 1 || r.Point == "" || len(r.SetupRuns) != 2 || r.SetupRuns[1].Name != "the moment" {
		t.Errorf("moments %v, point %q, runs %+v", moments, r.Point, r.SetupRuns)
	}
	if log := w.must("race", "log", "shared", "a"); strings.Contains(log, "once") {
		t.Errorf("the log of a: %s", log)
	}
	// Run again, it begins at the same point, without another setup.
	again := w.ended(w.must("race", "rerun", "shared", "--json"))
	for _, e := range again.Entries {
		if got := w.sh(e.Box, "cat moment"); !moments[got] {
			t.Errorf("%s began at %q, not %v", e.Name, got, moments)
		}
	}
	// What the setup left is part of what lands.
	w.must("race", "apply", "--yes", "shared")
	if got := w.reality("setup"); got != "once\nb" {
		t.Errorf("landed: %q", got)
	}
}

// TestRaceDiffIsSinceTheSetup: an approach is told what it did to what the setup
// left, whatever reality has: also where it put something back as reality has
// it, and where it deleted what reality never had.
func TestRaceDiffIsSinceTheSetup(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	for name, text := range map[string]string{"kept": "real\n", "other/f": "f\n", "moved/g": "g\n"} {
		w.ok(os.MkdirAll(filepath.Dir(filepath.Join(w.ws, name)), 0o755))
		w.ok(os.WriteFile(filepath.Join(w.ws, name), []byte(text), 0o644))
	}
	const file = `
setup: ['echo setup > kept; echo made > made; mkdir sub; echo 1 > sub/1; echo 2 > sub/2; echo f2 >> other/f']
approaches:
  - {name: nothing, run: 'true'}
  - {name: back, run: 'echo real > kept'}
  - {name: gone, run: 'rm made; rm -r sub'}
  - {name: again, run: 'rm -r sub; mkdir sub; echo 1 > sub/1; echo 3 > sub/3'}
  - {name: same, run: 'echo made > made; chmod 644 kept'}
  - {name: moves, run: 'mv moved away; mv sub/1 sub/one'}
`
	for _, checks := range []string{"", "checks: ['true']\n"} { // read from the box, and from a snapshot
		r := w.raceOf(file + checks)
		for name, want := range map[string]string{
			"nothing": "", "back": "kept", "gone": "made sub", "again": "sub/2 sub/3", "same": "", "moves": "away away/g moved sub/one",
		} {
			var got []string
			for _, p := range w.entry(r, name).Diff.Paths {
				got = append(got, strings.TrimPrefix(p, w.ws+"/"))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("with %q %s changed %q, not %q: %+v", checks, name, got, want, w.entry(r, name))
			}
		}
	}
}

// TestRaceSetupFails says which command failed, how, and with what words, and
// leaves nothing: no box, no snapshot, no transcript.
func TestRaceSetupFails(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	out, said, code := w.cli("race", "--name", "r", "--setup", "echo the disk is blue; exit 7", "--try", "a=touch never")
	if code != 125 {
		t.Errorf("exit %d", code)
	}
	for _, word := range []string{"set up", "exit 7", "the disk is blue"} {
		if !strings.Contains(said, word) {
			t.Errorf("it does not say %q: %s%s", word, out, said)
		}
	}
	if boxes := w.boxes(); len(boxes) != 0 {
		t.Errorf("a box is left: %+v", boxes)
	}
	w.swept("boxes", "layers", "trash")
	if left := transcripts(w.home); len(left) != 0 {
		t.Errorf("transcripts are left: %q", left)
	}
	r := w.show("r")
	if r.State != forkbox.RaceFailed || !strings.Contains(r.Why, "blue") || r.Winner != "" {
		t.Errorf("%s", told(r))
	}
	w.refused([]string{"r"}, "race", "apply", "--yes", "r")
	w.refused(nil, "race", "--setup", "no-such-program-here", "--try", "a=true")
	if boxes := w.boxes(); len(boxes) != 0 {
		t.Errorf("a box is left: %+v", boxes)
	}
}

// transcripts are the files that the daemon keeps of races.
func transcripts(home string) (all []string) {
	_ = filepath.WalkDir(filepath.Join(home, "races"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, path)
		}
		return nil
	})
	return all
}

// TestRaceFrom begins at a snapshot, a template, an empty root.
func TestRaceFrom(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.must("new", "--name", "base")
	w.sh("base", "echo green > state")
	w.must("snapshot", "base", "green")
	w.sh("base", "echo red > state")
	w.must("template", "create", "start", "--from", "base@green")
	for _, from := range [][]string{{"--from", "base@green"}, {"--template", "start"}} {
		args := append([]string{"--try", "a=echo 1 > f", "--try", "b=seq 2 > f", "--check", "grep -q green state"}, from...)
		r := w.race(args...)
		w.is(r, "a b", "a:passed b:passed")
	}
	if got := w.sh("base", "cat state"); got != "red" {
		t.Errorf("the box it began at says %q", got)
	}
	r := w.raceOf("from: base@green\nsetup: [echo 1 >> state]\napproaches: [{name: a, run: cat state}]\nchecks: [test $(wc -l < state) = 2]\n")
	w.is(r, "a", "a:passed")
	w.refused([]string{"nothing"}, "race", "--from", "base@nothing", "--try", "a=true")
	w.refused(nil, "race", "--from", "nobody@x", "--try", "a=true")
	w.clear()
	w.must("template", "rm", "start")
}
