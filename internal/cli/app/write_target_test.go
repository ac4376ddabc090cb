package app

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWriteWhole: a file appears when it is complete; until then, and if it
// fails, what was there stays and nothing is left beside it.
func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "out.tar")
	link := filepath.Join(dir, "link")
	if err := os.Symlink("out.tar", link); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := WriteWhole(file, func(w io.Writer) error { io.WriteString(w, "half"); return broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	expectFiles(t, dir, "link")
	if err := WriteWhole(file, func(w io.Writer) error { io.WriteString(w, "one"); expectMissing(t, file); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := WriteWhole(link, func(w io.Writer) error { io.WriteString(w, "two"); return nil }); err != nil {
		t.Fatal(err)
	}
	expectFiles(t, dir, "link", "out.tar")
	if text, _ := os.ReadFile(file); string(text) != "two" {
		t.Errorf("%q", text)
	}
	if err := WriteWhole(dir, func(io.Writer) error { return nil }); err == nil {
		t.Error("a directory was written")
	}
	if err := WriteWhole(os.DevNull, func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s was replaced: %v", os.DevNull, err)
	}
}

func expectMissing(t *testing.T, file string) {
	t.Helper()
	if _, err := os.Lstat(file); err == nil {
		t.Errorf("%s is there already", file)
	}
}

func expectFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("there are %v, want %v", got, want)
	}
}
