//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPromise6KilledDaemonLeavesNothing kills the daemon at ever later moments
// of a box's creation, an exec and its removal. Whatever the moment, the next
// daemon ends with boxes that work or are gone, and once they are removed
// nothing is left: no process, no mount, no file.
func TestPromise6KilledDaemonLeavesNothing(t *testing.T) {
	verbs := map[string][]string{
		"create": {"new", "--name", "fresh"},
		"run":    {"run", "--keep", "-q", "--name", "fresh", "--", "sh", "-c", "echo x > /tmp/x; sleep 0.02"},
		"exec":   {"exec", "old", "--", "sh", "-c", "echo y > /tmp/y"},
		"rm":     {"rm", "-f", "old"},
	}
	for name, args := range verbs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for delay := time.Duration(0); delay < 30*time.Millisecond; delay += 2 * time.Millisecond {
				killDuring(t, delay, args)
			}
		})
	}
}

func killDuring(t *testing.T, delay time.Duration, args []string) {
	t.Helper()
	w := makeWorld(t, "", "reality")
	defer removeHome(t, w.home)
	w.must("new", "--name", "old")
	w.sh("old", "echo kept > /tmp/kept")

	cmd := w.command(args...)
	w.ok(cmd.Start())
	time.Sleep(delay) // the moment that this is about
	w.kill()
	_ = cmd.Wait() // it may succeed through the next daemon, or fail: both are fine

	removed := args[0] == "rm"
	if out, err := combined(w.command("exec", "old", "--", "cat", "/tmp/kept")); err != nil && !removed {
		t.Fatalf("after a kill at %v of %v the old box is broken: %v %s", delay, args, err, out)
	}
	w.must("rm", "-f", "old", "fresh")
	if list := w.must("ls", "--json"); strings.Contains(list, `"id"`) {
		t.Errorf("kill at %v of %v: a box is left: %s", delay, args, list)
	}
	w.stop()
	nothingLeft(t, w.home, fmt.Sprintf("kill at %v of %v", delay, args))
}

func kill(t *testing.T, home string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(home, "daemon.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	dead := func() bool { // its files are closed with its last thread
		now, err := os.ReadFile(filepath.Join(home, "daemon.pid"))
		return err == nil && !bytes.Equal(now, text) || isFree(home) // a client that waited for it may have started the next one
	}
	if !comes(dead) {
		t.Fatal("the daemon does not die")
	}
}

// nothingLeft looks for files in the store and for processes whose mounts are
// overlays of it, and gives the kernel a moment to end those it was told to.
func nothingLeft(t *testing.T, home, when string) {
	t.Helper()
	var left []string
	if !comes(func() bool { left = leftOf(home); return len(left) == 0 }) {
		t.Errorf("%s: left behind: %v", when, left)
	}
}

func leftOf(home string) (left []string) {
	for _, dir := range []string{"boxes", "trash"} {
		entries, _ := os.ReadDir(filepath.Join(home, dir))
		for _, e := range entries {
			left = append(left, filepath.Join(dir, e.Name()))
		}
	}
	tables, _ := filepath.Glob("/proc/[0-9]*/mountinfo")
	for _, table := range tables {
		if raw, err := os.ReadFile(table); err == nil && bytes.Contains(raw, []byte(home)) {
			left = append(left, table)
		}
	}
	return left
}
