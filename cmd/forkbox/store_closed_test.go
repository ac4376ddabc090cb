//go:build linux

package main

import (
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

// TestStoreIsClosedAboveSetuidFiles: root's boxes leave programs in the store that
// run as root for any user who executes them. Above each of them, in tops, layers
// and receipts, lie several directories that no other user gets into, and each of
// these alone is enough: one that is opened by mistake opens nothing.
func TestStoreIsClosedAboveSetuidFiles(t *testing.T) {
	t.Parallel()
	who, err := user.Lookup("fbtest")
	if os.Geteuid() != 0 || err != nil {
		t.Skip("only root's boxes have files of root's, and there has to be a user fbtest")
	}
	w := newWorld(t)
	home := w.home
	w.leaveSetuidFiles()
	w.ok(os.Chmod(filepath.Dir(home), 0o755)) // or the other user does not get to home itself
	kinds := map[string]int{}
	for _, path := range setuidFiles(t, home) {
		rel, _ := filepath.Rel(home, path)
		kind, _, _ := strings.Cut(rel, "/")
		kinds[kind]++
		checkLevels(t, who, home, path)
	}
	for _, kind := range []string{"boxes", "layers", "receipts"} {
		if kinds[kind] == 0 {
			t.Errorf("there is none in %s: %v", kind, kinds)
		}
	}
}

// leaveSetuidFiles leaves one in a box, one in a snapshot, and one that an apply
// replaced.
func (w *world) leaveSetuidFiles() {
	w.Helper()
	work := w.TempDir()
	program := filepath.Join(work, "program")
	w.ok(os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755))
	w.ok(os.Chmod(program, fs.ModeSetuid|0o755))
	w.must("new", "--name", "one", "--net", "none")
	change := func() {
		w.must("exec", "one", "-w", work, "--", "sh", "-c", "echo : >> program; chmod 4755 program")
	}
	change()
	w.must("snapshot", "one")
	change()
	w.must("apply", "--yes", "one", program)
	change()
}

func setuidFiles(t *testing.T, home string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode()&fs.ModeSetuid != 0 {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// checkLevels has the user look at a file of the store, with all that is closed
// above it opened but for one directory, and then that too: only then they see it.
func checkLevels(t *testing.T, who *user.User, home, path string) {
	t.Helper()
	sees := func() bool {
		return exec.Command("setpriv", "--reuid", who.Uid, "--regid", who.Gid, "--clear-groups", "--inh-caps=-all", "test", "-u", path).Run() == nil
	}
	closed := closedAbove(t, home, path)
	if len(closed) < 2 || sees() {
		t.Errorf("above %s are closed: %q", path, closed)
	}
	for _, only := range closed {
		setModes(t, closed, 0o755)
		setModes(t, []string{only}, 0o700)
		if sees() {
			t.Errorf("%s alone does not keep others from %s", only, path)
		}
	}
	setModes(t, closed, 0o755)
	if !sees() {
		t.Errorf("%s is not seen when everything is open: the test shows nothing", path)
	}
	setModes(t, closed, 0o700)
}

// closedAbove are the directories between home and a path that only root enters.
func closedAbove(t *testing.T, home, path string) (closed []string) {
	t.Helper()
	for dir := filepath.Dir(path); dir != home; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 == 0 {
			closed = append(closed, dir)
		}
	}
	return closed
}

func setModes(t *testing.T, dirs []string, mode fs.FileMode) {
	t.Helper()
	for _, dir := range dirs {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
}
