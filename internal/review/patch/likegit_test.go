package patch

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// distinct makes two versions in which no line occurs twice, so that there is
// one way to tell the difference.
func distinct(t *rapid.T, longest int) (old, new []byte) {
	serial := 0
	fresh := rapid.Custom(func(t *rapid.T) string {
		serial++
		form := rapid.SampledFrom([]string{"%d\n", "func f%d() {\n", "\tx%d\n", "-- %d\n", "++ %d\r\n", "_%d \t\n", "é%d" + strings.Repeat("long ", 20) + "\n"})
		return fmt.Sprintf(form.Draw(t, "form"), serial)
	})
	old = textOf(fresh, longest).Draw(t, "old")
	var lines []string
	every := rapid.IntRange(2, 20).Draw(t, "every")
	for _, line := range Split(old) {
		hit := rapid.IntRange(1, every).Draw(t, "hit") == 1
		if hit && rapid.Bool().Draw(t, "insert") {
			lines = append(lines, fresh.Draw(t, "line"))
		}
		if !hit || rapid.Bool().Draw(t, "keep") {
			lines = append(lines, strings.TrimSuffix(string(line), "\n")+"\n")
		}
	}
	return old, unterminated(t, lines)
}

// Where there is one way to tell a change, Render writes what git writes, to
// the byte: header, quoting, grouping of hunks, line numbers, headings.
func TestRenderWritesWhatGitWrites(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		f := fileOf().Draw(t, "file")
		old, new := distinct(t, 80)
		f.Old, f.New = asContent(f.OldPath, f.OldMode, old), asContent(f.NewPath, f.NewMode, new)
		f.OldPath, f.NewPath = unspaced(f.OldPath), unspaced(f.NewPath)
		if f.OldPath != "" && f.NewPath != "" {
			f.NewPath = f.OldPath
		}
		checkLikeGit(t, dir, f)
	})
}

// unspaced has no space before a slash, however many there were: those names are
// written otherwise than git does, see headerName.
func unspaced(path string) string {
	for strings.Contains(path, " /") {
		path = strings.ReplaceAll(path, " /", "/")
	}
	return path
}

func asContent(path string, mode fs.FileMode, text []byte) []byte {
	switch {
	case path == "":
		return nil
	case mode&fs.ModeSymlink != 0:
		return append([]byte("t"), text[:min(len(text), 100)]...)
	}
	return text
}

func checkLikeGit(t fataler, dir string, f File) {
	t.Helper()
	mustGit(t, emptied(t, dir), "init", "-q")
	f.before().put(t, dir)
	before := tree(t, dir)
	if f.OldPath != "" {
		must(t, os.Remove(dir+"/"+f.OldPath))
	}
	f.after().put(t, dir)
	want := mustGit(t, dir, "-c", "core.abbrev=7", "diff", "--binary", "--no-renames", before, tree(t, dir))
	if got, _ := render(t, f); string(got) != want {
		t.Fatalf("got\n%s\ngit writes\n%s", got, want)
	}
}

// tree has git remember what is in dir.
func tree(t fataler, dir string) string {
	t.Helper()
	mustGit(t, dir, "add", "-A", "-f")
	return strings.TrimSpace(mustGit(t, dir, "write-tree"))
}

func TestRenderExamplesAsGit(t *testing.T) {
	link := fs.ModeSymlink | 0o777
	a, b := []byte("one\ntwo\nthree"), []byte("one\n2\nthree\n")
	for name, f := range map[string]File{
		"added":           {NewPath: "f", NewMode: 0o644, New: a},
		"added empty":     {NewPath: "f", NewMode: 0o755},
		"deleted":         {OldPath: "f", OldMode: 0o644, Old: a},
		"deleted empty":   {OldPath: "f", OldMode: 0o644},
		"emptied":         {OldPath: "f", OldMode: 0o644, Old: a, NewPath: "f", NewMode: 0o644},
		"filled":          {OldPath: "f", OldMode: 0o644, NewPath: "f", NewMode: 0o644, New: b},
		"mode":            {OldPath: "a b", OldMode: 0o644, Old: a, NewPath: "a b", NewMode: 0o755, New: a},
		"mode and text":   {OldPath: "a b", OldMode: 0o644, Old: a, NewPath: "a b", NewMode: 0o755, New: b},
		"other mode":      {OldPath: "f", OldMode: 0o644, Old: a, NewPath: "f", NewMode: 0o604, New: a},
		"symlink":         {OldPath: "l", OldMode: link, Old: []byte("x"), NewPath: "l", NewMode: link, New: []byte("y")},
		"file to symlink": {OldPath: "l", OldMode: 0o644, Old: a, NewPath: "l", NewMode: link, New: []byte("y")},
		"symlink to file": {OldPath: "l", OldMode: link, Old: []byte("y"), NewPath: "l", NewMode: 0o755, New: b},
		"quoted":          {OldPath: "d\n/\"é\\ \t\x01", OldMode: 0o644, Old: a, NewPath: "d\n/\"é\\ \t\x01", NewMode: 0o644, New: b},
		"no newline":      {OldPath: "f", OldMode: 0o644, Old: a, NewPath: "f", NewMode: 0o644, New: append(bytes.Clone(a), '\n')},
	} {
		t.Run(name, func(t *testing.T) { checkLikeGit(t, t.TempDir(), f) })
	}
}

// git cannot apply what it writes itself for these names; see headerName.
func TestGitAppliesNamesWithASpaceBeforeASlash(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []File{
		{NewPath: "x /y", NewMode: 0o644},
		{NewPath: "x /y", NewMode: 0o644, New: []byte("\x00")},
		{OldPath: "x /y z", OldMode: 0o644, NewPath: "x /y z", NewMode: 0o755},
		{OldPath: "x /y", OldMode: 0o644, NewPath: "z", NewMode: 0o644, Similarity: 100},
	} {
		text, _ := render(t, f)
		checkApply(t, dir, f.before(), f.after(), text, "apply")
		checkApply(t, dir, f.after(), f.before(), text, "apply", "--reverse")
	}
}

func TestRenderRefuses(t *testing.T) {
	for _, f := range []File{
		{},
		{NewPath: "/abs"}, {NewPath: "../x"}, {NewPath: ".."}, {NewPath: "a//b"}, {NewPath: "a/../../b"}, {OldPath: "a\x00b"}, {OldPath: "."},
		{NewPath: "d", NewMode: fs.ModeDir | 0o755}, {OldPath: "p", OldMode: fs.ModeNamedPipe | 0o644},
		{NewPath: "d", NewMode: fs.ModeDevice | fs.ModeCharDevice},
		{OldPath: "a", NewPath: "b", Similarity: 101}, {OldPath: "a", NewPath: "b", Similarity: -1},
	} {
		var b bytes.Buffer
		if _, err := Render(&b, f); err == nil || b.Len() > 0 {
			t.Errorf("%+v: %v, wrote %q", f, err, b.String())
		}
	}
}
