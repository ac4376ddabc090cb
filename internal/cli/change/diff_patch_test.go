package change

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/review/patch"
)

// What git has no form for is told between the patches, wherever it falls, and
// git apply takes the whole.
func TestGitAppliesWhatDiffPrints(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("b", "one\ntwo\n")
	write("d", "no newline")
	var out bytes.Buffer
	list := &patchList{out: bufio.NewWriter(&out), at: place.Place{Dir: "/w"}}
	for _, c := range []forkbox.Change{
		{Path: "/w/a", Kind: forkbox.Added, Type: "dir"},
		{Path: "/w/b", Kind: forkbox.Modified, Type: "file", Attrs: []string{"owner"}, Owner: "1:1", OldOwner: "0:0",
			Patch: rendered(t, patch.File{OldPath: "b", NewPath: "b", OldMode: 0o644, NewMode: 0o644, Old: []byte("one\ntwo\n"), New: []byte("one\nthree\n")})},
		{Path: "/w/c\n@@ -1 +1 @@\n-x", Kind: forkbox.Added, Type: "fifo"},
		{Path: "/w/d", Kind: forkbox.Modified, Type: "file",
			Patch: rendered(t, patch.File{OldPath: "d", NewPath: "d", OldMode: 0o644, NewMode: 0o644, Old: []byte("no newline"), New: []byte("a newline\n")})},
		{Path: "/w/diff --git a", Kind: forkbox.Deleted, Type: "dir", Entries: 2},
		{Path: "/w/e", Kind: forkbox.Added, Type: "file", Binary: true,
			Patch: rendered(t, patch.File{NewPath: "e", NewMode: 0o644, New: []byte("\x00\x01binary")})},
		{Path: "/w/z", Kind: forkbox.Mode, Type: "file", Attrs: []string{"xattr"}},
	} {
		if err := list.add(c); err != nil {
			t.Fatal(err)
		}
	}
	list.out.Flush()
	cmd := exec.Command("git", "apply", "-")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(out.Bytes())
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, msg, out.String())
	}
	for name, want := range map[string]string{"b": "one\nthree\n", "d": "a newline\n", "e": "\x00\x01binary"} {
		if got, _ := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	for _, want := range []string{
		"# added dir a/\n", "# modified file b  (owner 0:0 to 1:1)\n", "# deleted dir diff --git a/  (with 2 paths below)\n",
		"# mode file z  (other extended attributes)\n", `# added fifo "c\n@@ -1 +1 @@\n-x"` + "\n",
	} {
		if !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func rendered(t *testing.T, f patch.File) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := patch.Render(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
