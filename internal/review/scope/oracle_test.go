package scope

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
	"pgregory.net/rapid"
)

// workTree is a git work tree on disk, with a home beside it, in which ignore
// files are tried against git itself.
type workTree struct {
	root, home string
	paths      []string // relative, in path order
	isDir      map[string]bool
}

var (
	treeDirs  = []string{"a", "b", "ab", "a b", "[a]", ".a", "\xffd"}
	treeFiles = []string{"a", "aab", "ba", "a ", "a]", "!a", "#a", `a\`, "*", "-", "A", "1", "\n", "\t", "\v", "\xff", "é", "a.b", "~"}
)

func newWorkTree(t *testing.T) *workTree {
	w := &workTree{root: t.TempDir(), home: t.TempDir(), isDir: map[string]bool{}}
	w.git(t, nil, "init", "-q")
	must(t, os.MkdirAll(w.home+"/.config/git", 0o755))
	w.fill(t, "", 2)
	slices.SortFunc(w.paths, func(a, b string) int {
		return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
	})
	return w
}

func (w *workTree) fill(t *testing.T, dir string, depth int) {
	for i, name := range treeDirs {
		if depth > 0 && (dir == "" || i%2 == 0) {
			w.add(dir+name, true)
			must(t, os.Mkdir(filepath.Join(w.root, dir+name), 0o755))
			w.fill(t, dir+name+"/", depth-1)
		}
	}
	for _, name := range treeFiles {
		if !w.isDir[dir+name] {
			w.add(dir+name, false)
			must(t, os.WriteFile(filepath.Join(w.root, dir+name), nil, 0o644))
		}
	}
}

func (w *workTree) add(rel string, dir bool) {
	w.paths = append(w.paths, rel)
	w.isDir[rel] = dir
}

func (w *workTree) git(t *testing.T, input []byte, args ...string) []byte {
	cmd := exec.Command("git", append([]string{"-C", w.root}, args...)...)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Env = append(os.Environ(), "HOME="+w.home, "XDG_CONFIG_HOME="+w.home+"/.config",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && args[0] == "check-ignore" {
		return out // none is ignored
	}
	must(t, err)
	return out
}

// ignoredByGit asks git about all paths.
func (w *workTree) ignoredByGit(t *testing.T) map[string]bool {
	input := []byte(strings.Join(w.paths, "\x00") + "\x00")
	ignored := map[string]bool{}
	for path := range strings.SplitSeq(string(w.git(t, input, "check-ignore", "-z", "--stdin", "--no-index")), "\x00") {
		ignored[path] = path != ""
	}
	return ignored
}

// ignoredBy asks a Sorter.
func (w *workTree) ignoredBy(s *Sorter, kind forkbox.Kind) map[string]bool {
	ignored := map[string]bool{}
	for _, rel := range w.paths {
		c := forkbox.Change{Path: w.root + "/" + rel, Kind: kind, Type: "file"}
		if w.isDir[rel] {
			c.Type = "dir"
		}
		ignored[rel] = s.Scope(c) == forkbox.Noise
	}
	return ignored
}

var atoms = []string{
	"a", "b", "ab", "*", "*", "**", "/", "/", "?", "[", "]", "[a-b]", "[!a]", "[^b]", "[[:alpha:]]", "[[:digit:]",
	"[[:space:]]", "[[:cntrl:]]", "[[:punct:]]", "[[:graph:]]", "[[:foo:]]", "[[::]]", "[[:]", "[:a]", "[]a]", "[!]a]", "[a-", "[a-]", "[--a]", `[\]]`,
	`[\a-\b]`, "[b-a]", "[a-b-z]", `\`, `\a`, `\*`, `\/`, "!", " ", "#", ".", "-", "~", "a/b", "**/", "/**", "/**/", "a**/", "***", "\t", "\v", "\r", "\x00", "\xff", "é",
}

func drawIgnoreFile(t *rapid.T, name string) []byte {
	line := rapid.Custom(func(t *rapid.T) string {
		begin := rapid.SampledFrom([]string{"", "", "", "!", "/", "!/", "**/", `\`}).Draw(t, "begin")
		middle := strings.Join(rapid.SliceOfN(rapid.SampledFrom(atoms), 0, 5).Draw(t, "atoms"), "")
		return begin + middle + rapid.SampledFrom([]string{"", "", "", "/", " ", `\ `, "/*", "\r"}).Draw(t, "end")
	})
	lines := rapid.SliceOfN(line, 0, 6).Draw(t, name)
	bom := rapid.SampledFrom([]string{"", "", "", "\xef\xbb\xbf"}).Draw(t, "bom")
	return []byte(bom + strings.Join(lines, "\n"))
}

// TestIgnoresAsGitDoes compares with git itself: random ignore files in
// several places, asked about every path of a tree with odd names.
func TestIgnoresAsGitDoes(t *testing.T) {
	w := newWorkTree(t)
	where := []string{w.root + "/.gitignore", w.root + "/a/.gitignore", w.root + "/a b/a/.gitignore", w.root + "/.git/info/exclude", w.home + "/.config/git/ignore"}
	rapid.Check(t, func(rt *rapid.T) {
		inTree := map[string][]byte{}
		for i, file := range where {
			content := drawIgnoreFile(rt, file[len(w.root):])
			must(t, os.WriteFile(file, content, 0o644))
			if i < 3 {
				inTree[file] = content
			}
		}
		want := w.ignoredByGit(t)
		compare(rt, w, "reality's", want, w.ignoredBy(New(w.root, w.home, os.ReadFile), forkbox.Modified))
		compare(rt, w, "the box's", want, w.ignoredBy(learning(w, inTree), forkbox.Added))
	})
}

// TestLinkedWorkTreeAsGitDoes: the excludes of a linked work tree are those of
// its repository.
func TestLinkedWorkTreeAsGitDoes(t *testing.T) {
	w := newWorkTree(t)
	w.git(t, nil, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "first")
	must(t, os.WriteFile(w.root+"/.git/info/exclude", []byte("a*\n!aab\n"), 0o644))
	linked := &workTree{root: t.TempDir() + "/linked", home: w.home, paths: []string{"a", "aab", "b"}}
	w.git(t, nil, "worktree", "add", "-q", linked.root)
	want, got := linked.ignoredByGit(t), linked.ignoredBy(New(linked.root, w.home, os.ReadFile), forkbox.Modified)
	if !want["a"] || want["aab"] || want["b"] {
		t.Fatalf("git says %v", want)
	}
	for _, rel := range linked.paths {
		if want[rel] != got[rel] {
			t.Errorf("git says that %q is ignored: %v; we: %v", rel, want[rel], got[rel])
		}
	}
	s := New(linked.root, w.home, os.ReadFile)
	if got := s.Scope(forkbox.Change{Path: w.root + "/.git/refs/heads/linked", Kind: forkbox.Added, Type: "file"}); got != forkbox.Workspace {
		t.Errorf("a commit in a linked work tree is %s", got)
	}
}

// learning makes a Sorter that finds the files of the tree in the box only.
func learning(w *workTree, files map[string][]byte) *Sorter {
	s := New(w.root, w.home, func(path string) ([]byte, error) {
		if _, ok := files[path]; ok {
			return nil, fs.ErrNotExist
		}
		return os.ReadFile(path)
	})
	for path, content := range files {
		s.Learn(path, content)
	}
	return s
}

func compare(t *rapid.T, w *workTree, whose string, want, got map[string]bool) {
	for _, rel := range w.paths {
		if want[rel] != got[rel] {
			t.Fatalf("%s rules: git says that %q is ignored: %v; we: %v", whose, rel, want[rel], got[rel])
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
