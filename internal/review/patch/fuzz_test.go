package patch

import (
	"bytes"
	"slices"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, file := range []File{
		{OldPath: "a b", NewPath: "a b", OldMode: 0o644, NewMode: 0o755, Old: []byte("a\nb\n-- x\n"), New: []byte("a\nc\n++ y")},
		{OldPath: "x\n", NewPath: "y\"", OldMode: 0o644, NewMode: 0o644, Old: []byte("a\n"), New: []byte("b\n"), Similarity: 70},
		{NewPath: "é", NewMode: 0o644, New: []byte("\x00\x01")},
		{OldPath: "é", OldMode: 0o644},
	} {
		text, _ := render(f, file)
		f.Add(text)
	}
	f.Add([]byte("diff --git a/f b/f\n--- a/f\t\n+++ b/f\n@@ -1 +1,0 @@ x\n-a\n\\ No newline at end of file\n-- \n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		files, err := Parse(text)
		if err != nil && files != nil {
			t.Fatal("files with an error")
		}
		for _, file := range files {
			checkParsedSafely(t, text, file)
		}
	})
}

// checkParsedSafely checks what users of a parsed patch rely on, and that what
// was understood, written out again, is understood the same.
func checkParsedSafely(t *testing.T, text []byte, f ParsedFile) {
	for _, p := range []string{f.OldPath, f.NewPath} {
		if p != "" && !relative(p) || f.OldPath+f.NewPath == "" {
			t.Fatalf("path %q", p)
		}
	}
	if !bytes.Contains(text, f.Raw) || !bytes.HasPrefix(f.Raw, f.Head) {
		t.Fatal("raw text is not of the patch")
	}
	if f.Binary {
		return
	}
	again := bytes.NewBuffer(bytes.Clone(f.Head))
	for _, h := range f.Hunks {
		minus, plus := h.changed()
		if h.OldLines != len(h.Lines)-plus || h.NewLines != len(h.Lines)-minus {
			t.Fatalf("%s does not count its lines", h.Header())
		}
		must(t, h.Write(again))
	}
	files, err := Parse(again.Bytes())
	must(t, err)
	if len(files) != 1 || files[0].OldPath != f.OldPath || files[0].NewPath != f.NewPath || !slices.EqualFunc(files[0].Hunks, f.Hunks, sameHunk) {
		t.Fatalf("%+v\nnot\n%+v", files, f)
	}
}
