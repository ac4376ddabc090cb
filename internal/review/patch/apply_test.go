package patch

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

// What Render writes, git applies, and takes back.
func TestGitAppliesWhatRenderWrites(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		f := fileOf().Draw(t, "file")
		text, _ := render(t, f)
		checkApply(t, dir, f.before(), f.after(), text, "apply", "--whitespace=nowarn")
		checkApply(t, dir, f.after(), f.before(), text, "apply", "--whitespace=nowarn", "--reverse")
	})
}

func checkApply(t fataler, dir string, from, to version, patch []byte, args ...string) {
	t.Helper()
	from.put(t, emptied(t, dir))
	if len(patch) > 0 {
		if _, err := git(t, dir, patch, args...); err != nil {
			t.Fatalf("%v\n%s", err, patch)
		}
	}
	if got := found(t, dir); !got.same(to) {
		t.Fatalf("%v gave %q %v %q, not %q %v %q\n%s", args, got.path, got.mode, got.content, to.path, to.mode, to.content, patch)
	}
}

// A longer file, where hunks lie apart and are numbered by their place.
func TestGitAppliesManyHunks(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		old := textOf(lineOf(), 400).Draw(t, "old")
		f := File{OldPath: "f", NewPath: "f", OldMode: 0o644, NewMode: 0o644, Old: old}
		f.New = changed(t, bytes.Clone(old), lineOf())
		text, stats := render(t, f)
		checkApply(t, dir, f.before(), f.after(), text, "apply", "--whitespace=nowarn")
		if stats != Count(f.Old, f.New) {
			t.Fatalf("Render counts %+v, Count %+v", stats, Count(f.Old, f.New))
		}
	})
}

// NULs after the first 8000 bytes do not make a file binary.
func TestLateNULs(t *testing.T) {
	old := append(bytes.Repeat([]byte("line\n"), 2000), "x\x00y\nend\n"...)
	new := bytes.Replace(old, []byte("end"), []byte("\x00end"), 1)
	f := File{OldPath: "f", NewPath: "f", OldMode: 0o644, NewMode: 0o644, Old: old, New: new}
	text, stats := render(t, f)
	if stats.Binary || Binary(old) || !Binary([]byte("\x00")) {
		t.Fatalf("%+v", stats)
	}
	checkApply(t, t.TempDir(), f.before(), f.after(), text, "apply")
}
