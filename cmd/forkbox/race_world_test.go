//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// end removes the races and the boxes, which would outlive their daemon.
func (w *raceWorld) end() {
	defer removeHome(w.T, w.home)
	if _, err := os.Stat(w.home); err != nil {
		return
	}
	defer nothingLeft(w.T, w.home, "at the end")
	defer w.stop()
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
