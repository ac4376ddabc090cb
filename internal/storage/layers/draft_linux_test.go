package layers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestDraft(t *testing.T) {
	s := open(t)
	d, err := s.NewLayer(t.Context(), "L")
	must(t, err)
	for range 2 {
		dir, err := d.Mount("/mnt/a-b")
		must(t, err)
		write(t, filepath.Join(dir, "f"), "text")
	}
	if _, err := d.Mount("relative"); forkbox.CodeOf(err) != forkbox.Invalid {
		t.Errorf("a mount that is none: %v", err)
	}
	if layers, err := s.Layers(); err != nil || len(layers) > 0 || s.HasLayer("L") {
		t.Errorf("a draft is a layer: %q, %v", layers, err)
	}
	if _, err := s.NewLayer(t.Context(), "L"); forkbox.CodeOf(err) != forkbox.Busy {
		t.Errorf("a second draft: %v", err)
	}
	must(t, s.EmptyTrash(t.Context())) // it leaves alone what is being made
	must(t, d.Keep())
	want := []Upper{{"/mnt/a-b", filepath.Join(s.Layer("L"), `mnt-a\x2db`)}}
	if uppers, err := s.LayerUppers("L"); err != nil || !slices.Equal(uppers, want) || !exists(filepath.Join(want[0].Dir, "f")) {
		t.Errorf("the layer has %v, %v", uppers, err)
	}
	if err := d.Keep(); err == nil {
		t.Error("it was kept twice")
	}
	must(t, d.Abort())
	if !s.HasLayer("L") {
		t.Error("Abort removed what was kept")
	}
	if _, err := s.NewLayer(t.Context(), "L"); forkbox.CodeOf(err) != forkbox.Exists {
		t.Errorf("a draft of a layer that exists: %v", err)
	}
	wantWhole(t, s)
}

func TestDraftAborted(t *testing.T) {
	s := open(t)
	for range 2 {
		d, err := s.NewLayer(t.Context(), "L")
		must(t, err)
		_, err = d.Mount("/")
		must(t, err)
		must(t, d.Abort())
		must(t, d.Abort())
		wantWhole(t, s)
		if err := d.Keep(); err == nil || s.HasLayer("L") {
			t.Errorf("kept after it was removed: %v", err)
		}
	}
}

// What a crash left of a draft is in no one's way, and goes.
func TestDraftAfterACrash(t *testing.T) {
	old := open(t)
	for _, dir := range []string{".new-L/upper/-/old", ".new-M/upper"} {
		must(t, os.MkdirAll(filepath.Join(old.layers(), dir), 0o700))
	}
	must(t, os.MkdirAll(filepath.Join(old.roots(), ".new-R"), 0o700))
	s, err := Open(old.home)
	must(t, err)
	d, err := s.NewLayer(t.Context(), "L")
	must(t, err)
	if names := readNames(t, filepath.Join(d.Dir, "upper")); len(names) > 0 {
		t.Errorf("the draft begins with %q", names)
	}
	must(t, d.Keep())
	must(t, s.EmptyTrash(t.Context()))
	wantWhole(t, s)
}

func TestRoots(t *testing.T) {
	s := open(t)
	digest := "sha256:" + strings.Repeat("a1", 32)
	d, err := s.NewRoot(t.Context(), digest)
	must(t, err)
	write(t, filepath.Join(d.Dir, "etc"), "")
	if info, err := os.Stat(d.Dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the root has mode %v, %v", info.Mode(), err)
	}
	must(t, d.Keep())
	if roots, err := s.Roots(); err != nil || !slices.Equal(roots, []string{digest}) || !s.HasRoot(digest) {
		t.Errorf("Roots = %q, %v", roots, err)
	}
	if !exists(filepath.Join(s.Root(digest), "etc")) {
		t.Error("the root is not where Root says")
	}
	for range 2 {
		must(t, s.RemoveRoot(t.Context(), digest))
	}
	for _, name := range []string{"", ".", "..", "../boxes", "a/b", ".new-x", "a\x00", strings.Repeat("a", 200)} {
		_, err := s.NewRoot(t.Context(), name)
		if forkbox.CodeOf(err) != forkbox.Invalid || forkbox.CodeOf(s.RemoveRoot(t.Context(), name)) != forkbox.Invalid {
			t.Errorf("%q names a root: %v", name, err)
		}
		if filepath.Dir(s.Root(name)) != s.roots() {
			t.Errorf("root %q is %s", name, s.Root(name))
		}
	}
	if names := readNames(t, s.roots()); len(names) > 0 {
		t.Errorf("left in roots: %q", names)
	}
	wantWhole(t, s)
}

func TestReplace(t *testing.T) {
	s, err := Open(t.TempDir())
	must(t, err)
	for _, id := range []string{"spare", "fresh", "used"} {
		must(t, s.Create(t.Context(), id))
	}
	must(t, os.WriteFile(s.Log("spare", "1"), []byte("of the spare"), 0o600))
	must(t, os.WriteFile(s.Log("used", "1"), []byte("its own"), 0o600))
	if err := s.Replace("spare", "used"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("what has something was replaced: %v", err)
	}
	if raw, _ := os.ReadFile(s.Log("used", "1")); string(raw) != "its own" {
		t.Errorf("its log is %q now", raw)
	}
	must(t, s.Replace("spare", "fresh"))
	if raw, _ := os.ReadFile(s.Log("fresh", "1")); string(raw) != "of the spare" {
		t.Errorf("it has %q", raw)
	}
	if exists(s.Dir("spare")) {
		t.Error("the spare is still there")
	}
	if err := s.Replace("fresh", "removed"); forkbox.CodeOf(err) != forkbox.NotFound || !exists(s.Dir("fresh")) {
		t.Errorf("what is not there was replaced: %v", err)
	}
	if s.Replace("../fresh", "used") == nil || s.Replace("fresh", "") == nil {
		t.Error("a path is no id")
	}
}
