package layers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// create makes a box with the directories that its first start makes.
func create(t *testing.T, s *Store, id string) {
	t.Helper()
	if err := s.Create(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{s.Upper(id), s.Work(id)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCreate(t *testing.T) {
	s := open(t)
	create(t, s, "b1")
	if info, err := os.Stat(filepath.Dir(s.Log("b1", "1"))); err != nil || !info.IsDir() {
		t.Error(err)
	}
	if err := s.Create(t.Context(), "b1"); forkbox.CodeOf(err) != forkbox.Exists {
		t.Errorf("creating it again: %v", err)
	}
	create(t, s, "a1")
	if ids, err := s.List(); err != nil || !slices.Equal(ids, []string{"a1", "b1"}) {
		t.Errorf("List = %v, %v", ids, err)
	}
}

func TestIDsDoNotEscape(t *testing.T) {
	s := open(t)
	for _, id := range []string{"", ".", "..", "../x", "/etc", "a/b", "a.b", "a\x00b", "a\n", strings.Repeat("a", 65)} {
		if err := s.Create(t.Context(), id); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("Create(%q) = %v", id, err)
		}
		if err := s.Remove(t.Context(), id); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("Remove(%q) = %v", id, err)
		}
		for _, p := range []string{s.Dir(id), s.Upper(id), s.Work(id), s.Log(id, "1"), s.Log("b1", id)} {
			if !strings.HasPrefix(p, s.boxes()+string(filepath.Separator)) {
				t.Errorf("id %q leads to %s", id, p)
			}
		}
	}
}

func is755(dir string) bool {
	st, err := os.Lstat(dir)
	return err == nil && st.Mode().Perm() == 0o755
}

func TestUppers(t *testing.T) {
	s := open(t)
	if err := s.Create(t.Context(), "b1"); err != nil {
		t.Fatal(err)
	}
	if uppers, err := s.Uppers("b1"); err != nil || len(uppers) > 0 {
		t.Errorf("before its first start a box has %v, %v", uppers, err)
	}
	for _, mount := range []string{"/home", "/", "/mnt/a-b"} {
		// Twice, as if a kill came before it had its mode; then it has it.
		for _, mode := range []os.FileMode{0, 0o755, 0} {
			dir, made, err := s.NewUpper("b1", mount)
			if err != nil || made == (mode == 0 && is755(dir)) {
				t.Fatalf("NewUpper(%q) = %v, %v", mount, made, err)
			}
			if mode != 0 {
				if err := os.Chmod(dir, mode); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	want := []Upper{
		{"/", filepath.Join(s.Upper("b1"), "-")},
		{"/home", filepath.Join(s.Upper("b1"), "home")},
		{"/mnt/a-b", filepath.Join(s.Upper("b1"), `mnt-a\x2db`)},
	}
	if got, err := s.Uppers("b1"); err != nil || !slices.Equal(got, want) {
		t.Errorf("Uppers = %v, %v", got, err)
	}
	if _, err := s.Uppers("nobody"); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("Uppers of no box: %v", err)
	}
}

// TestNobodyElseGetsIntoTheStore: a box of root's can leave setuid programs in
// it. Whatever became of the directories' modes, a start puts them right.
func TestNobodyElseGetsIntoTheStore(t *testing.T) {
	home := t.TempDir()
	open := func() {
		if _, err := Open(home); err != nil {
			t.Fatal(err)
		}
	}
	open()
	for _, dir := range []string{"boxes", "layers", "roots", "trash"} {
		if err := os.Chmod(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	open()
	for _, dir := range []string{"boxes", "layers", "roots", "trash"} {
		if st, err := os.Stat(filepath.Join(home, dir)); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, st.Mode(), err)
		}
	}
}
