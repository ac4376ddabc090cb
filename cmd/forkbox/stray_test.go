//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestStrayOfALostStore kills a daemon and removes its home while what an apply
// replaced lies in reality. The next home's doctor finds it and says what it
// holds; repair restores it, but where reality has changed since, and deletes
// it, each only when asked.
func TestStrayOfALostStore(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.ok(os.WriteFile(w.ws+"/kept", []byte("old\n"), 0o644))
	w.ok(os.WriteFile(w.ws+"/edited", []byte("old\n"), 0o644))
	w.fork("box")
	w.in("box", "sh", "-c", "echo new >kept; echo new >edited; echo new >made")
	id := w.apply("box")
	stray := w.loseHome(id)
	w.ok(os.WriteFile(w.ws+"/edited", []byte("later\n"), 0o644))

	text := w.output(w.command("doctor"))
	for _, want := range []string{stray + ": 2 files", w.ws + "/edited", w.ws + "/kept", "repair --stray " + stray + " --restore", "--delete"} {
		if !strings.Contains(text, want) {
			t.Errorf("doctor does not say %q:\n%s", want, text)
		}
	}
	w.holds("kept new, edited later, made new")

	out, err := w.command("repair", "--stray", stray, "--restore").CombinedOutput()
	if exitCode(err) != forkbox.Conflict.ExitCode() || !strings.Contains(string(out), w.ws+"/edited: ") || strings.Contains(string(out), w.ws+"/kept") {
		t.Errorf("restore: %v\n%s", err, out)
	}
	w.holds("kept old, edited later")
	w.output(w.command("repair", "--stray", stray, "--delete"))
	if _, err := os.Lstat(stray); err == nil {
		t.Error("it was not deleted")
	}
	w.holds("kept old, edited later")

	for _, args := range [][]string{{"--restore"}, {"--stray", w.ws}, {"--stray", w.ws, "--restore", "--delete"}, {"--stray", w.ws, "--delete"}} {
		if out, err := w.command(append([]string{"repair"}, args...)...).CombinedOutput(); err == nil || !strings.Contains(string(out), "hint: ") {
			t.Errorf("repair %v: %v %s", args, err, out)
		}
	}
	w.holds("kept old, edited later")
}

// loseHome puts what a receipt keeps back beside its targets, where it lies
// until the apply is done, and removes the home.
func (w *landWorld) loseHome(receipt string) (stray string) {
	w.Helper()
	kept := filepath.Join(w.home, "receipts", receipt, "kept-0")
	text, err := os.ReadFile(kept + "/places")
	w.ok(err)
	var place struct{ In string }
	line, _, _ := strings.Cut(string(text), "\n")
	w.ok(json.Unmarshal([]byte(line), &place))
	stray = filepath.Join(place.In, ".forkbox-"+receipt)
	w.output(w.command(append([]string{"rm", "-f"}, w.boxes...)...))
	w.boxes = nil
	w.stop()
	w.ok(os.Rename(kept, stray))
	w.ok(os.RemoveAll(w.home))
	return stray
}

// holds checks the workspace's files: "NAME WORD, …".
func (w *landWorld) holds(want string) {
	w.Helper()
	names := []string{}
	for _, name := range []string{"kept", "edited", "made"} {
		if text, err := os.ReadFile(filepath.Join(w.ws, name)); err == nil {
			names = append(names, name+" "+strings.TrimSpace(string(text)))
		}
	}
	if got := strings.Join(names, ", "); got != want {
		w.Errorf("reality has %s, not %s", got, want)
	}
}
