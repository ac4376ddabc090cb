//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRecordingIsUpToDate: docs/demo.svg shows what forkbox prints today.
func TestRecordingIsUpToDate(t *testing.T) {
	dir := t.TempDir()
	binary, picture := filepath.Join(dir, "forkbox"), filepath.Join(dir, "demo.svg")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "../../cmd/forkbox").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := record(binary, picture); err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../../docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	if string(now) != string(kept) {
		t.Errorf("docs/demo.svg is not what forkbox prints today; make it anew with make recording:\n%s", now)
	}
}
