package patch

import (
	"bytes"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"github.com/forkbox/forkbox"
	"pgregory.net/rapid"
)

// "a diff parser takes a removed line that starts with `--` for a header:
// corrupt patch, hidden lines"
func TestRemovedLineThatLooksLikeAHeader(t *testing.T) {
	old := "-- a/f\n++ b/f\n-- \n@ -1 +1 @@\ndiff --git a/x b/x\nkeep\n"
	new := "++ b/evil\n-- a/evil\nkeep\n"
	f := File{OldPath: "f", NewPath: "f", OldMode: 0o644, NewMode: 0o644, Old: []byte(old), New: []byte(new)}
	text, _ := render(t, f)
	if !bytes.Contains(text, []byte("\n--- a/f\n-++ b/f\n")) || !bytes.Contains(text, []byte("\n+++ b/evil\n")) {
		t.Fatalf("the patch does not have the lines this is about:\n%s", text)
	}
	files, err := Parse(text)
	must(t, err)
	if len(files) != 1 || files[0].NewPath != "f" || len(files[0].Hunks) != 1 {
		t.Fatalf("%+v", files)
	}
	if got := selected(t, f.Old, files[0].Hunks, []int{1}, false); string(got) != new {
		t.Fatalf("%q", got)
	}
}

func TestParseReadsWhatRenderWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOfN(fileOf(), 1, 4).Draw(t, "files")
		var text bytes.Buffer
		var want []File
		for _, f := range files {
			text.WriteString("# between files\n")
			one, _ := render(t, f)
			text.Write(one)
			want = append(want, told(f)...)
		}
		got, err := Parse(text.Bytes())
		must(t, err)
		if len(got) != len(want) {
			t.Fatalf("%d files, not %d\n%s", len(got), len(want), text.Bytes())
		}
		for i := range got {
			checkParsed(t, got[i], want[i])
		}
	})
}

// told is what of a file is in its patch.
func told(f File) []File {
	var list []File
	for _, part := range f.parts() {
		if part.before().same(part.after()) {
			continue
		}
		list = append(list, part)
	}
	return list
}

func checkParsed(t fataler, got ParsedFile, f File) {
	t.Helper()
	again, _ := render(t, f)
	if got.OldPath != f.OldPath || got.NewPath != f.NewPath || !bytes.Equal(got.Raw, again) {
		t.Fatalf("%q %q\n%s\nnot\n%s", got.OldPath, got.NewPath, got.Raw, again)
	}
	changed := f.OldPath == "" || f.NewPath == "" || !bytes.Equal(f.Old, f.New)
	if (changed || !sameMode(f.OldMode, f.NewMode)) && (f.OldPath != "" && !sameMode(got.OldMode, f.OldMode) || f.NewPath != "" && !sameMode(got.NewMode, f.NewMode)) {
		t.Fatalf("%v %v, not %v %v\n%s", got.OldMode, got.NewMode, f.OldMode, f.NewMode, got.Raw)
	}
	if (got.Similarity > 0) != (f.OldPath != f.NewPath && f.OldPath != "" && f.NewPath != "") {
		t.Fatalf("similarity %d", got.Similarity)
	}
	if got.Binary {
		checkUnpacked(t, got.Forward, f.New)
		checkUnpacked(t, got.Reverse, f.Old)
		return
	}
	hunks := Hunks(f.Old, f.New)
	if !slices.EqualFunc(got.Hunks, hunks, sameHunk) {
		t.Fatalf("%+v\nnot\n%+v", got.Hunks, hunks)
	}
	if new := selected(t, f.Old, got.Hunks, numbered(len(hunks)), false); !bytes.Equal(new, f.New) {
		t.Fatalf("%q, not %q", new, f.New)
	}
}

func sameMode(a, b fs.FileMode) bool {
	return version{path: "x", mode: a}.same(version{path: "x", mode: b})
}

func sameHunk(a, b Hunk) bool {
	return a.Header() == b.Header() && slices.EqualFunc(a.Lines, b.Lines, sameLine)
}

func checkUnpacked(t fataler, b *BinaryContent, want []byte) {
	t.Helper()
	got, err := b.Unpack()
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Fatalf("unpacked %q, not %q", got, want)
	}
}

// Another reader of git's patches sees the same in them. It cannot read a name
// that ends in a backslash, so there are no backslashes here; that git can is
// in TestGitAppliesWhatRenderWrites.
func TestParseAgreesWithGitdiff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := fileOf().Draw(t, "file")
		f.OldPath, f.NewPath = strings.ReplaceAll(f.OldPath, `\`, "_"), strings.ReplaceAll(f.NewPath, `\`, "_")
		text, _ := render(t, f)
		ours, err := Parse(text)
		must(t, err)
		theirs, _, err := gitdiff.Parse(bytes.NewReader(text))
		must(t, err)
		if len(ours) != len(theirs) {
			t.Fatalf("%d files, gitdiff has %d\n%s", len(ours), len(theirs), text)
		}
		for i := range ours {
			checkAgainst(t, ours[i], theirs[i])
		}
	})
}

func checkAgainst(t fataler, f ParsedFile, other *gitdiff.File) {
	t.Helper()
	if f.OldPath != other.OldName || f.NewPath != other.NewName || f.Binary != other.IsBinary || len(f.Hunks) != len(other.TextFragments) {
		t.Fatalf("%q %q, gitdiff has %q %q", f.OldPath, f.NewPath, other.OldName, other.NewName)
	}
	for i, h := range f.Hunks {
		o := other.TextFragments[i]
		if int64(h.OldStart) != o.OldPosition || int64(h.OldLines) != o.OldLines || int64(h.NewStart) != o.NewPosition || int64(h.NewLines) != o.NewLines || len(h.Lines) != len(o.Lines) {
			t.Fatalf("%s, gitdiff has %s", h.Header(), o.Header())
		}
		for j, line := range h.Lines {
			if string(line.Op) != o.Lines[j].Op.String() || string(line.Text) != o.Lines[j].Line {
				t.Fatalf("%c%q, gitdiff has %q", line.Op, line.Text, o.Lines[j].String())
			}
		}
	}
	if f.Binary {
		forward, err := io.ReadAll(other.BinaryFragment.Data())
		must(t, err)
		checkUnpacked(t, f.Forward, forward)
		reverse, err := io.ReadAll(other.ReverseBinaryFragment.Data())
		must(t, err)
		checkUnpacked(t, f.Reverse, reverse)
	}
}

func TestParseRefuses(t *testing.T) {
	const head = "diff --git a/f b/f\n--- a/f\n+++ b/f\n"
	for text, why := range map[string]string{
		"hello\n": "no line that begins with",
		"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n": "line 3: this hunk belongs to no file",
		"diff --cc f\n":                           "merge",
		head:                                      "a hunk was expected",
		head + "@@ -1 +1 @@\n-a\n":                "ends within a hunk",
		head + "@@ -1 +1 @@\n-a\n+b":              "ends within a hunk",
		head + "@@ -1 +1 @@\n-a\nb\n":             "does not belong in a hunk",
		head + "@@ -1 +1 @@\n-a\n+b\n+hidden\n":   "more lines than",
		head + "@@ -1 +1 @@\n-a\n+b\n-- hidden\n": "more lines than",
		head + "@@ -1 +1 @@\n-a\n-b\n":            "not those that the hunk's header counts",
		head + "@@ -1,2 +1 @@\n-a\n\\ No newline at end of file\n-b\n+b\n": "not those",
		head + "@@ -0,0 +0,0 @@\n":                                                          "not the header of a hunk",
		head + "@@ -1 +99999999999 @@\n":                                                    "not the header of a hunk",
		head + "@@ -0 +1 @@\n-a\n+b\n":                                                      "not the header of a hunk",
		"diff --git a/f b/f\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n":                       "do not agree",
		"diff --git a/f b/f\n--- a/f\n@@ -1 +1 @@\n-a\n+b\n":                                "name of the new file",
		"diff --git a/../f b/../f\nold mode 100644\nnew mode 100755\n":                      "name no file",
		"diff --git a//etc/x b//etc/x\nnew file mode 100644\n":                              "name no file",
		"diff --git f f\nnew file mode 100644\n":                                            "name no file",
		"diff --git a/f b/f\nrename from f\nrename to g\n":                                  "do not agree",
		"diff --git a/f b/f\nnew file mode 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n": "do not agree",
		"diff --git a/f b/f\nnew file mode 040000\n":                                        "makes no sense",
		"diff --git a/f b/f\nsimilarity index 101%\n":                                       "makes no sense",
		"diff --git a/f b/f\nindex xyz..0\n":                                                "makes no sense",
		"diff --git a/f b/f\nGIT binary patch\n\n":                                          "binary content was expected",
		"diff --git a/f b/f\nGIT binary patch\nliteral -1\n\n":                              "not a size",
		"diff --git a/f b/f\nGIT binary patch\nliteral 4\nDabc\n\n":                         "not a line of binary content",
		"diff --git a/f b/f\nGIT binary patch\nliteral 4\n":                                 "not a line of binary content",
		"diff --git a/f b/f\nGIT binary patch\nliteral 4\nD~~~~~\n\n":                       "not a line of binary content",
	} {
		files, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), why) || forkbox.CodeOf(err) != forkbox.Invalid || files != nil {
			t.Errorf("%q: %v, wanted %q", text, err, why)
		}
	}
}

func TestParsePassesOverTextAroundFiles(t *testing.T) {
	text := "From: someone\n\n---\n f | 2 +-\n\n# a remark\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@ func x\n\n-a\n+b\n-- \n2.39\n\n"
	files, err := Parse([]byte(text))
	must(t, err)
	if len(files) != 1 || files[0].Hunks[0].Section != "func x" || string(files[0].Hunks[0].Lines[0].Text) != "\n" {
		t.Fatalf("%+v", files)
	}
	if head := string(files[0].Head); head != "diff --git a/f b/f\n--- a/f\n+++ b/f\n" {
		t.Fatalf("head %q", head)
	}
	for _, empty := range []string{"", "\n", "# only a remark\n"} {
		if files, err := Parse([]byte(empty)); err != nil || files != nil {
			t.Fatalf("%q: %v %v", empty, files, err)
		}
	}
}

func TestUnpackRefusesAWrongSize(t *testing.T) {
	f := File{NewPath: "f", New: []byte("\x00some content")}
	text, _ := render(t, f)
	for _, size := range []string{"literal 12\n", "literal 14\n", "literal 2305843009213693951\n"} {
		files, err := Parse(bytes.Replace(text, []byte("literal 13\n"), []byte(size), 1))
		must(t, err)
		if _, err := files[0].Forward.Unpack(); err == nil {
			t.Errorf("%q was believed", size)
		}
	}
}
