package secrets

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPipeIsNotWaitedFor: who owns a home may put a pipe where a file of
// settings is looked into. It counts as secret, and its content is not waited
// for.
func TestPipeIsNotWaitedFor(t *testing.T) {
	home := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(home, ".npmrc"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, hidden := find(Paths(home), filepath.Join(home, ".npmrc")); !hidden {
		t.Error("it is shown")
	}
}
