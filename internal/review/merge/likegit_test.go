package merge

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

// gitMerge is what `git merge-file` makes of three versions.
func gitMerge(t *rapid.T, dir string, base, ours, theirs []byte) (content string, conflict bool) {
	for name, text := range map[string][]byte{"base": base, "ours": ours, "theirs": theirs} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "merge-file", "-p", "ours", "base", "theirs")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 127) {
		t.Fatal(err)
	}
	return string(out), err != nil
}

// Where git sees a conflict, so do we; where both see none, both make the same.
// Where no line occurs twice there is one way to tell who changed what, and both
// see the same conflicts; with repeated lines we may see more.
func TestThreeIsAsCarefulAsGit(t *testing.T) {
	for name, repeats := range map[string]bool{"distinct lines": false, "repeated lines": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			rapid.Check(t, func(t *rapid.T) {
				base, ours, theirs := versions(t, repeats)
				want, conflict := gitMerge(t, dir, base, ours, theirs)
				got := Three(base, ours, theirs, labels)
				if conflict && got.Conflicts == 0 {
					t.Fatalf("git sees a conflict in %q %q %q:\n%s\nwe have\n%s", base, ours, theirs, want, got.Content)
				}
				if !conflict && got.Conflicts == 0 && string(got.Content) != want {
					t.Fatalf("we make\n%s\ngit makes\n%s\nof %q %q %q", got.Content, want, base, ours, theirs)
				}
				if !repeats && conflict != (got.Conflicts > 0) {
					t.Fatalf("git sees no conflict in %q %q %q", base, ours, theirs)
				}
			})
		})
	}
}
