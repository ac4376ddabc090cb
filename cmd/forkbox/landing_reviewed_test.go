//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
)

// reviewed is the hash of what a box changed, as diff prints it.
func (w *landWorld) reviewed(box string, args ...string) string {
	w.Helper()
	var out struct{ Summary forkbox.Summary }
	w.ok(json.Unmarshal([]byte(w.fb(append([]string{"diff", box}, args...)...)), &out))
	if out.Summary.Hash == "" {
		w.Fatal("diff has no hash")
	}
	return out.Summary.Hash
}

// refused expects an error of a code, and reality as it was.
func (w *landWorld) refused(code forkbox.Code, args ...string) *forkbox.Error {
	w.Helper()
	before := w.reality()
	out, err := w.try(args...)
	if err == nil {
		w.Fatalf("forkbox %q was not refused: %s", args, out)
	}
	if err.Code != code {
		w.Fatalf("forkbox %q: the code is %s, not %s: %v %v", args, err.Code, code, err, err.Items)
	}
	if diff := restored(w.reality(), before); diff != "" {
		w.Fatalf("forkbox %q was refused with %v, and changed reality\n%s", args, err, diff)
	}
	w.noStaging(fmt.Sprintf("after %q was refused", args))
	return err
}

// write writes a file of reality.
func (w *landWorld) write(name, content string) {
	w.Helper()
	path := filepath.Join(w.ws, name)
	w.ok(os.MkdirAll(filepath.Dir(path), 0o755))
	w.ok(os.WriteFile(path, []byte(content), 0o644))
}

func (w *landWorld) read(name string) string {
	w.Helper()
	content, err := os.ReadFile(filepath.Join(w.ws, name))
	w.ok(err)
	return string(content)
}

// TestPromise3WhatYouReviewedIsWhatLands: whatever a box does after its diff
// was read, an apply of the reviewed hash is refused; a box that did nothing
// lands.
func TestPromise3WhatYouReviewedIsWhatLands(t *testing.T) {
	t.Parallel()
	later := map[string]string{
		"content":              "echo later > f",
		"content of same size": "echo NEW > f; touch -r g f",
		"mode":                 "chmod 700 f",
		"new file":             "echo > later",
		"new directory":        "mkdir later",
		"new link":             "ln f later",
		"deletion":             "rm g",
		"deletion of the new":  "rm new",
		"symlink":              "ln -sfn elsewhere link",
		"type":                 "rm f; mkdir f",
		"renamed":              "mv new newer",
		"put back":             "echo old > f",
	}
	w := newLandWorld(t)
	w.write("f", "old\n")
	w.write("g", "other\n")
	for name, command := range later {
		box := w.fork(fmt.Sprintf("box%d", len(w.boxes)))
		w.in(box, "sh", "-c", "echo new > f; echo > new; ln -s somewhere link")
		hash := w.reviewed(box, "--all")
		w.in(box, "sh", "-c", command)
		if err := w.refused(forkbox.Conflict, "apply", "--all", "--yes", "--reviewed", hash, box); !bytes.Contains([]byte(err.Why), []byte("reviewed")) {
			t.Errorf("%s: refused for another reason: %v", name, err)
		}
	}
	box := w.fork("same")
	w.in(box, "sh", "-c", "echo new > f; echo > new; ln -s somewhere link")
	before, want := w.reality(), w.boxTree(box)
	id := w.apply(box, "--all", "--reviewed", w.reviewed(box, "--all"))
	if diff := landed(w.reality(), want, before); diff != "" {
		t.Errorf("what was reviewed did not land\n%s", diff)
	}
	w.fb("undo", id)
}

// versions are what flip writes, large enough that a copy can meet one half
// written.
var versions = sync.OnceValue(func() [2][]byte {
	return [2][]byte{bytes.Repeat([]byte("one\n"), 100_000), bytes.Repeat([]byte("two\n"), 100_000)}
})

// flip writes now one version and now the other into a file, for ever.
func flip() error {
	f, err := os.OpenFile("flipped", os.O_WRONLY, 0)
	for i := 0; err == nil; i++ {
		_, err = f.WriteAt(versions()[i%2], 0)
	}
	return err
}

// TestPromise3WhatYouReviewedIsWhatLands_Busy applies while a process in the
// box goes on writing: what lands is what was reviewed, to the byte, or
// nothing lands.
func TestPromise3WhatYouReviewedIsWhatLands_Busy(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.write("flipped", "old")
	w.write("zeta", "old")
	box := w.fork("box")
	w.ok(os.WriteFile(filepath.Join(w.ws, "..", "one"), versions()[0], 0o644))
	w.in(box, "sh", "-c", "cat ../one > flipped; echo new > zeta")
	hash := w.reviewed(box, "--all")

	self, err := os.Executable()
	w.ok(err)
	busy := w.command("exec", "-e", insideVar+"=flip", box, "--", self)
	w.ok(busy.Start())
	defer func() { busy.Process.Kill(); busy.Wait() }()
	count := map[bool]int{}
	for range 40 {
		_, refused := w.try("apply", "--all", "--yes", "--reviewed", hash, box)
		count[refused == nil]++
		switch got := w.read("flipped"); {
		case refused == nil && got != string(versions()[0]):
			t.Fatalf("something else landed than what was reviewed: %.40q…, %d bytes", got, len(got))
		case refused != nil && got != "old":
			t.Fatalf("the apply was refused (%v), and something landed: %.40q…", refused, got)
		case refused == nil:
			w.fb("undo", "--yes")
		case refused.Code != forkbox.Conflict:
			t.Fatalf("the code is %s: %v", refused.Code, refused)
		}
	}
	t.Logf("landed %d times, was refused %d times", count[true], count[false])
}
