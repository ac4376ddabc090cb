package layers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/forkbox/forkbox"
)

// oldStore makes a store as the first version left it.
func oldStore(t *testing.T) (home string) {
	t.Helper()
	home = temp(t)
	for _, dir := range []string{"boxes/b1/upper/-", "boxes/b1/upper/home", "boxes/b1/work/-/work", "boxes/never-started", "trash"} {
		must(t, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	write(t, filepath.Join(home, "boxes/b1/upper/-/f"), "mine")
	write(t, filepath.Join(home, "boxes/b1/1.log"), "log")
	return home
}

func wantUpgraded(t *testing.T, home string) {
	t.Helper()
	for range 2 {
		s, err := Open(home)
		must(t, err)
		if text, err := os.ReadFile(filepath.Join(s.Upper("b1"), "-", "f")); string(text) != "mine" || err != nil {
			t.Errorf("the box has %q, %v", text, err)
		}
		if uppers, err := s.Uppers("b1"); len(uppers) != 2 || err != nil {
			t.Errorf("the box has %v, %v", uppers, err)
		}
		if !exists(filepath.Join(s.Work("b1"), "-", "work")) || !exists(s.Log("b1", "1")) {
			t.Error("its work directory or its log is gone")
		}
		if exists(filepath.Join(s.Dir("b1"), "upper")) || exists(filepath.Join(s.Dir("b1"), "work")) {
			t.Error("something is left at its old place")
		}
		if names := readNames(t, s.Dir("never-started")); len(names) > 0 {
			t.Errorf("the box that was never started has %q", names)
		}
	}
}

func TestUpgrade(t *testing.T) { wantUpgraded(t, oldStore(t)) }

// What a crash leaves after each step of an upgrade is upgraded.
func TestUpgradeAfterACrash(t *testing.T) {
	steps := []func(box string) error{
		func(box string) error { return os.Mkdir(filepath.Join(box, "top"), 0o700) },
		func(box string) error { return os.Rename(filepath.Join(box, "upper"), filepath.Join(box, "top/upper")) },
		func(box string) error { return os.Rename(filepath.Join(box, "work"), filepath.Join(box, "top/work")) },
		func(box string) error { return os.WriteFile(filepath.Join(box, "../../layout.new"), nil, 0o600) },
		func(box string) error { return os.WriteFile(filepath.Join(box, "../../layout"), nil, 0o600) },
	}
	for n := range len(steps) + 1 {
		home := oldStore(t)
		for _, step := range steps[:n] {
			must(t, step(filepath.Join(home, "boxes/b1")))
		}
		wantUpgraded(t, home)
	}
}

// Two uppers cannot both be the box's: a person has to look.
func TestUpgradeLosesNothing(t *testing.T) {
	home := oldStore(t)
	must(t, os.MkdirAll(filepath.Join(home, "boxes/b1/top/upper"), 0o700))
	if _, err := Open(home); err == nil {
		t.Error("one of the uppers was lost")
	}
	if !exists(filepath.Join(home, "boxes/b1/upper/-/f")) || exists(filepath.Join(home, "layout")) {
		t.Error("something was moved all the same")
	}
}

func TestLaterLayout(t *testing.T) {
	home := oldStore(t)
	write(t, filepath.Join(home, "layout"), "3\n")
	if _, err := Open(home); forkbox.CodeOf(err) != forkbox.Unsupported {
		t.Errorf("a later layout: %v", err)
	}
	if !exists(filepath.Join(home, "boxes/b1/upper/-/f")) {
		t.Error("something was moved all the same")
	}
}
