package patch

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs git in dir, with no configuration but git's own.
func git(t fataler, dir string, stdin []byte, args ...string) (stdout string, err error) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(dir),
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t")
	cmd.Stdin = bytes.NewReader(stdin)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err = cmd.Run(); err != nil {
		return out.String(), &gitError{args, problems.String()}
	}
	return out.String(), nil
}

type gitError struct {
	args   []string
	stderr string
}

func (e *gitError) Error() string { return "git " + strings.Join(e.args, " ") + ": " + e.stderr }

// fataler is what testing.T and rapid.T have in common.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustGit(t fataler, dir string, args ...string) string {
	t.Helper()
	out, err := git(t, dir, nil, args...)
	must(t, err)
	return out
}

// emptied has the caller use one directory for many checks.
func emptied(t fataler, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		must(t, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return dir
}

// version is a file as it lies in a directory; path "" is no file.
type version struct {
	path    string
	mode    fs.FileMode
	content []byte
}

func (v version) put(t fataler, dir string) {
	t.Helper()
	if v.path == "" {
		return
	}
	name := dir + "/" + v.path
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	if v.mode&fs.ModeSymlink != 0 {
		must(t, os.Symlink(string(v.content), name))
		return
	}
	must(t, os.WriteFile(name, v.content, 0o644))
	must(t, os.Chmod(name, v.mode.Perm()))
}

// found is the one file below dir, or none.
func found(t fataler, dir string) (v version) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if v.path != "" {
			t.Fatalf("there are %q and %q", v.path, name)
		}
		info, err := d.Info()
		must(t, err)
		v = version{path: strings.TrimPrefix(name, dir+"/"), mode: info.Mode()}
		if v.mode&fs.ModeSymlink != 0 {
			target, err := os.Readlink(name)
			v.content = []byte(target)
			return err
		}
		v.content, err = os.ReadFile(name)
		return err
	}))
	return v
}

// same compares what git can tell of two versions.
func (v version) same(other version) bool {
	if v.path == "" || other.path == "" {
		return v.path == other.path
	}
	a, errA := gitMode(v.mode)
	b, errB := gitMode(other.mode)
	return v.path == other.path && a == b && errA == nil && errB == nil && bytes.Equal(v.content, other.content)
}

func render(t fataler, f File) ([]byte, Stats) {
	t.Helper()
	var b bytes.Buffer
	stats, err := Render(&b, f)
	must(t, err)
	return b.Bytes(), stats
}

func TestMain(m *testing.M) {
	if _, err := exec.LookPath("git"); err != nil {
		println("these tests need git")
		os.Exit(1)
	}
	os.Exit(m.Run())
}
