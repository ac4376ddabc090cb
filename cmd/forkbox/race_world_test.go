//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// raceWorld is a workspace in reality and a forkbox whose daemon starts when it
// is needed, as any user's does: what follows a race brings a daemon back that
// was killed.
type raceWorld struct {
	world
	ws    string // its root
	peaks string // where its commands leave how much memory they had, if they do
}

// racePatience is how long a command line may take: it only takes so long when
// a test fails.
const racePatience = 3 * time.Minute

func newRaceWorld(t *testing.T, env ...string) *raceWorld {
	t.Helper()
	w := &raceWorld{world: makeWorld(t, "", "ws")}
	w.ws = w.root
	t.Cleanup(w.end)
	w.configure(calm)
	w.env = append(w.env, env...)
	return w
}

// newWeighedRaceWorld is one whose commands' memory is looked at.
func newWeighedRaceWorld(t *testing.T) *raceWorld {
	t.Helper()
	w := newRaceWorld(t)
	w.peaks = w.file("peaks")
	w.ok(os.Mkdir(w.peaks, 0o755))
	w.env = append(w.env, peaksVar+"="+w.peaks)
	return w
}

// write puts a file into reality's workspace.
func (w *raceWorld) write(name, text string) {
	w.Helper()
	w.ok(os.WriteFile(filepath.Join(w.ws, name), []byte(text), 0o755))
}

// reality is what a file of the workspace says; "" is one that is not there.
func (w *raceWorld) reality(name string) string {
	text, _ := os.ReadFile(filepath.Join(w.ws, name))
	return strings.TrimSpace(string(text))
}

// try runs a command line to its end.
func (w *raceWorld) try(args ...string) (stdout, stderr string, code int) {
	w.Helper()
	return w.finish(w.command(args...))
}

func (w *raceWorld) finish(cmd *exec.Cmd) (stdout, stderr string, code int) {
	w.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, time.Second
	w.ok(cmd.Start())
	ctx, cancel := context.WithTimeout(context.Background(), racePatience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { cmd.Process.Kill() })()
	err := cmd.Wait()
	if ctx.Err() != nil {
		w.Fatalf("%q does not end\n%.4000s%.4000s\n%s", cmd.Args, out.String(), errs.String(), w.log())
	}
	return out.String(), errs.String(), exitCode(err)
}

// must runs one that has to succeed.
func (w *raceWorld) must(args ...string) string {
	w.Helper()
	out, errs, code := w.try(args...)
	if code != 0 {
		w.Fatalf("forkbox %q: exit %d\n%.4000s%.4000s\n%s", args, code, out, errs, w.log())
	}
	return strings.TrimSpace(out)
}

// refused runs one that forkbox itself has to refuse, and finds words in what
// it says.
func (w *raceWorld) refused(words []string, args ...string) string {
	w.Helper()
	out, errs, code := w.try(args...)
	if code != 125 {
		w.Fatalf("forkbox %q was not refused: exit %d\n%.4000s%.4000s", args, code, out, errs)
	}
	for _, word := range words {
		if !strings.Contains(errs, word) {
			w.Errorf("forkbox %q does not say %q, but: %.4000s", args, word, errs)
		}
	}
	return errs
}

// reads runs a verb with --json and takes its answer apart.
func (w *raceWorld) reads(into any, args ...string) {
	w.Helper()
	out := w.must(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		w.Fatalf("forkbox %q --json: %v\n%.4000s", args, err, out)
	}
}

// in runs a script in a box and returns what it printed.
func (w *raceWorld) in(box, script string) string {
	w.Helper()
	return w.must("exec", box, "--", "sh", "-c", script)
}

// end removes the races and the boxes, which would outlive their daemon.
func (w *raceWorld) end() {
	defer removeHome(w.T, w.home)
	if _, err := os.Stat(w.home); err != nil {
		return
	}
	defer nothingLeft(w.T, w.home, "at the end")
	defer stopDaemon(w.T, w.home)
	w.clear()
	w.swept("layers", "trash")
}

// clear removes every race and every box.
func (w *raceWorld) clear() {
	w.Helper()
	for _, r := range w.races() {
		w.must("race", "rm", "--force", r.ID)
	}
	for _, b := range w.boxes() {
		w.must("rm", "-f", b.ID)
	}
}

// swept waits until directories of the home are empty: what is removed goes in
// the background, and the daemon need not stay for it.
func (w *raceWorld) swept(dirs ...string) {
	w.Helper()
	for _, dir := range dirs {
		w.until(dir+" is empty", func() bool {
			left, _ := os.ReadDir(filepath.Join(w.home, dir))
			return len(left) == 0
		})
	}
}

func (w *raceWorld) races() []forkbox.Race {
	w.Helper()
	var list struct{ Races []forkbox.Race }
	w.reads(&list, "race", "ls")
	return list.Races
}

func (w *raceWorld) boxes() []forkbox.Box {
	w.Helper()
	var list struct{ Boxes []forkbox.Box }
	w.reads(&list, "ls")
	return list.Boxes
}

func (w *raceWorld) show(ref string) (r forkbox.Race) {
	w.Helper()
	w.reads(&r, "race", "show", ref)
	return r
}

// letGo has a step go on that waits for the file "go". That may end the race,
// which stops the box, and with it any process that would wait for the command.
func (w *raceWorld) letGo(box string) {
	w.Helper()
	w.must("exec", "-d", box, "--", "touch", "go")
}
