//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// crashRace is a race that stands still where a test wants it to: the script
// STOP waits in a box of it until the test says go.
const crashRace = `
name: r
setup: ['echo setup >> ran; SETUP']
approaches:
  - {name: good, steps: ['echo one >> ran; STEP', 'echo two >> ran; echo good > f']}
  - {name: long, steps: ['echo one >> ran', 'echo two >> ran; seq 50 > f']}
  - {name: bad, steps: ['echo one >> ran', 'echo two >> ran']}
checks: ['test -e f', {run: 'CHECK; test -e f', once: ONCE}]
metrics: [{name: n, run: 'METRIC; echo 5'}]
`

// standing has the race stand still at one of its places, for approach good.
func standing(place string) string {
	stop := `if [ ! -e stopped ] && [ "$WHO" != not ]; then touch here; ` + awaits("go") + `; touch stopped; fi`
	text := strings.Replace(crashRace, "{name: long,", "{name: long, env: {WHO: not},", 1)
	text = strings.Replace(text, "{name: bad,", "{name: bad, env: {WHO: not},", 1)
	// A check that is repeated begins as the steps left it, and would stop again.
	text = strings.Replace(text, "ONCE", fmt.Sprint(place == "CHECK"), 1)
	for _, p := range []string{"SETUP", "STEP", "CHECK", "METRIC"} {
		if p == place {
			text = strings.ReplaceAll(text, p, stop)
		}
		text = strings.ReplaceAll(text, p, ":")
	}
	return text
}

// TestRaceCrash kills the daemon while the race is at its setup, steps, checks
// and measuring. Who follows it sees the same end; no command of it has run
// twice.
func TestRaceCrash(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"SETUP", "STEP", "CHECK", "METRIC"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			w := newRaceWorld(t)
			cmd := w.command("race", "--json", "-f", w.raceFile(standing(place)))
			out, errs, end := w.piped(cmd)
			box := "r-good"
			if place == "SETUP" {
				w.until("the setup has a box", func() bool {
					for _, r := range w.races() {
						box = r.SetupBox
					}
					return box != "r-good" && box != ""
				})
			}
			w.awaitFile(box, "here")
			before := w.boxOf(box)
			for range 2 {
				w.kill()
				if now := w.boxOf(box); now.ID != before.ID {
					t.Errorf("%s is another box", box)
				}
			}
			w.letGo(box)
			if code := end(); code != 0 {
				t.Fatalf("exit %d\n%s\n%s", code, errs(), w.log())
			}
			w.asIfNothing(w.ended(out()))
		})
	}
}

// piped starts a command whose output can be read at any time.
func (w *raceWorld) piped(cmd *exec.Cmd) (out, errs func() string, end func() int) {
	w.Helper()
	var files [2]*os.File
	for i := range files {
		f, err := os.CreateTemp(w.file("."), "piped-")
		w.ok(err)
		defer f.Close()
		files[i] = f
	}
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	w.ok(cmd.Start())
	w.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	read := func(name string) func() string {
		return func() string { text, _ := os.ReadFile(name); return string(text) }
	}
	end = func() int {
		late := time.AfterFunc(worldPatience, func() { cmd.Process.Kill() })
		defer late.Stop()
		return exitCode(cmd.Wait())
	}
	return read(files[0].Name()), read(files[1].Name()), end
}

// asIfNothing finds a race as it would be without a crash.
func (w *raceWorld) asIfNothing(r forkbox.Race) {
	w.Helper()
	w.is(r, "good long bad", "bad:failed good:passed long:passed")
	if r.Winner != "good" {
		w.Errorf("the winner is %q", r.Winner)
	}
	seen := map[string]int{}
	for _, b := range w.boxes() {
		seen[b.Approach]++
	}
	if seen["good"] != 1 || seen["long"] != 1 || seen["bad"] != 1 || len(w.boxes()) > 4 {
		w.Errorf("the boxes are of %v", seen)
	}
	for _, e := range r.Entries {
		if got := strings.Fields(w.sh(e.Box, "cat ran")); strings.Join(got, " ") != "setup one two" {
			w.Errorf("in %s this ran: %q", e.Name, got)
		}
	}
	if again := w.show(r.ID); ranking(again) != ranking(r) || again.State != forkbox.RaceFinished {
		w.Errorf("the record is %s", told(again))
	}
}

// TestRaceCrashAnywhere kills the daemon again and again, at random moments.
func TestRaceCrashAnywhere(t *testing.T) {
	t.Parallel()
	for round := range 6 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			w := newRaceWorld(t)
			cmd := w.command("race", "--json", "-f", w.raceFile(standing("nowhere")))
			out, errs, end := w.piped(cmd)
			w.until("there is a race", func() bool { return strings.Contains(out(), `"kind":"race"`) })
			for n := range 4 {
				time.Sleep(time.Duration(round*7+n*n*23) * time.Millisecond) // any moment is right
				w.kill()
				w.must("race", "ls")
			}
			if code := end(); code != 0 {
				t.Fatalf("exit %d\n%s\n%s", code, errs(), w.log())
			}
			w.asIfNothing(w.ended(out()))
		})
	}
}

// TestRaceCrashOfApply kills the daemon while the winner lands. It lands once
// or not at all, and the race knows which.
func TestRaceCrashOfApply(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.write("log", "begin\n")
	w.race("--name", "r", "--try", "a=echo line >> log; mkdir many; for i in $(seq 300); do echo $i > many/$i; done", "--try", "b=seq 900 >> log")
	for n := range 8 {
		cmd := w.command("race", "apply", "--yes", "r")
		w.ok(cmd.Start())
		time.Sleep(time.Duration(n*6) * time.Millisecond) // any moment is right
		w.kill()
		_ = cmd.Wait() // it may have landed before, or through the next daemon
		w.landedOnceOrNot()
	}
	if w.show("r").Landed == "" {
		w.lands("r")
	}
	w.refused([]string{"undo"}, "race", "apply", "--yes", "r")
	w.landedOnceOrNot()
}

// landedOnceOrNot compares reality, the receipts and the record.
func (w *raceWorld) landedOnceOrNot() {
	w.Helper()
	lines := strings.Count(w.reality("log"), "line")
	files, _ := os.ReadDir(w.ws + "/many")
	var list struct{ Receipts []forkbox.Receipt }
	w.reads(&list, "receipts")
	applied := 0
	for _, r := range list.Receipts {
		switch r.State {
		case forkbox.Applied:
			applied++
		case forkbox.Landing, forkbox.Torn:
			w.Errorf("receipt %s is %s", r.ID, r.State)
		}
	}
	known := w.show("r").Landed != ""
	if lines > 1 || lines != applied || len(files) != 300*applied || known != (applied == 1) {
		w.Fatalf("%d lines, %d files, %d receipts, the race knows: %v\n%s", lines, len(files), applied, known, w.log())
	}
}
