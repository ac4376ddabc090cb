package change

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func painted(t *testing.T, patch string, colour bool) string {
	t.Helper()
	var b bytes.Buffer
	out := bufio.NewWriter(&b)
	p := patchPainter{out: out, colour: colour}
	p.write([]byte(patch))
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	out.Flush()
	return b.String()
}

const coloursPatch = `diff --git a/f b/f
index 1..2 100644
--- a/f
+++ b/f
@@ -1,4 +1,4 @@ func main()
 same
-old word here
+new word here
 end
-last
\ No newline at end of file
+last
`

func TestPatchHasGitsColours(t *testing.T) {
	got := painted(t, coloursPatch, true)
	for _, want := range []string{
		"\x1b[1mdiff --git a/f b/f\x1b[0m\n",
		"\x1b[1m--- a/f\x1b[0m\n",
		"\x1b[36m@@ -1,4 +1,4 @@\x1b[0m func main()\n",
		" same\n",
		"\x1b[31m-\x1b[0m\x1b[31;7mold\x1b[0m\x1b[31m word here\x1b[0m\n",
		"\x1b[32m+\x1b[0m\x1b[32;7mnew\x1b[0m\x1b[32m word here\x1b[0m\n",
		"No newline at end of file",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%q", want, got)
		}
	}
	if plain := painted(t, coloursPatch, false); plain != coloursPatch {
		t.Errorf("without colours it is another text:\n%s", plain)
	}
}

// A removed line "-- x" is "--- x" in a patch, and an added one "+++ x".
func TestChangedLinesAreNotTakenForHeaders(t *testing.T) {
	got := painted(t, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- x\n-@@ -9 +9 @@\n+++ y\n+diff --git a/g b/g\n", true)
	for _, want := range []string{"\x1b[31m--- x", "\x1b[31m-@@ -9 +9 @@", "\x1b[32m+++ y", "\x1b[32m+diff --git a/g b/g"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%q", want, got)
		}
	}
}

func TestOnlyWordsOfPairedLinesAreMarked(t *testing.T) {
	for name, hunk := range map[string]string{
		"one for two":  "@@ -1 +1,2 @@\n-a word\n+the word\n+b\n",
		"all is other": "@@ -1 +1 @@\n-entirely different\n+nothing in common here\n",
		"only added":   "@@ -0,0 +1 @@\n+new\n",
	} {
		if got := painted(t, hunk, true); strings.Contains(got, ";7m") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What a box wrote must not steer the terminal of the reviewer.
func TestContentCannotControlTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[2Khidden":       "^[[2Khidden",
		"a\rb":                "a^Mb",
		"\x00\x7f":            "^@^?",
		"\u202egpj.exe":       "<U+202E>gpj.exe",
		"\u0085":              "<U+0085>",
		"\xff\xfe":            "<FF><FE>",
		"tab\tünï 世界 \u00a0x": "tab\tünï 世界 \u00a0x",
	} {
		if got := terminal.Visible([]byte(text)); got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	evil := "@@ -1 +1 @@ \x1b]0;title\x07\n-a\x1b[1Ab\n+c\x1b[8md\n"
	for _, colour := range []bool{false, true} {
		got := painted(t, evil, colour)
		for _, bad := range []string{"\x1b]", "\x1b[1A", "\x1b[8m", "\x07"} {
			if strings.Contains(got, bad) {
				t.Errorf("%q got through: %q", bad, got)
			}
		}
	}
}

func TestBinaryFilesAreNotShown(t *testing.T) {
	var b bytes.Buffer
	list := &patchList{out: bufio.NewWriter(&b), terminal: true}
	change := forkbox.Change{
		Path: "/w/f", Kind: forkbox.Modified, Type: "file", Size: 2000, OldSize: 10, Binary: true,
		Patch: []byte("diff --git a/f b/f\nindex 1..2\nGIT binary patch\nliteral 3\nKcmV+b\n\n"),
	}
	if err := list.add(change); err != nil {
		t.Fatal(err)
	}
	list.out.Flush()
	if got := b.String(); got != "diff --git a/f b/f\nindex 1..2\nBinary file, 10 B to 2.0 kB\n" {
		t.Errorf("%q", got)
	}
	b.Reset()
	list = &patchList{out: bufio.NewWriter(&b)}
	if err := list.add(change); err != nil {
		t.Fatal(err)
	}
	list.out.Flush()
	if !bytes.Equal(b.Bytes(), change.Patch) {
		t.Errorf("in a pipe it is %q", b.String())
	}
}
