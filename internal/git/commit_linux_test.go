package git

import (
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func (w *world) mustCommit(spec CommitSpec, skipped ...string) string {
	w.Helper()
	id, got, err := w.Commit(w.Context(), spec)
	if err != nil {
		w.Fatal(err)
	}
	if !slices.Equal(got, skipped) {
		w.Errorf("skipped %q, want %q", got, skipped)
	}
	if head := w.sh("git rev-parse HEAD"); head != id {
		w.Errorf("id %s, HEAD %s", id, head)
	}
	return id
}

const changedInHead = "git diff-tree -r --root --no-commit-id --name-status --no-renames HEAD"

// What else is staged stays staged, and is not in the commit.
func TestCommitLeavesOtherStagedFilesStaged(t *testing.T) {
	w := newWorld(t, "echo 1 >mine; echo 1 >box; echo 1 >gone")
	w.sh("echo 2 >mine; git add mine; echo 3 >mine; echo n >staged-new; git add staged-new; git rm -q --cached gone; echo i >intent; git add -N intent")
	w.sh("echo 2 >box; echo 1 >new; echo 1 >untracked")
	staged := w.sh("git ls-files -s mine staged-new gone intent; git diff --cached mine staged-new gone")
	w.mustCommit(CommitSpec{Paths: w.path("box", "new"), Box: "b", Receipt: "r1"})
	w.want(changedInHead, "M\tbox\nA\tnew")
	w.want("git ls-files -s mine staged-new gone intent; git diff --cached mine staged-new gone", staged)
	w.want("git diff --cached --name-status", "D\tgone\nM\tmine\nA\tstaged-new")
	w.want("git show HEAD:mine", "1")
}

// The path itself may be staged in another version: what is committed is what
// landed in the work tree.
func TestCommitTakesTheWorkTreesVersion(t *testing.T) {
	w := newWorld(t, "echo 1 >f")
	w.sh("echo staged >f; git add f; echo landed >f")
	w.mustCommit(CommitSpec{Paths: w.path("f")})
	w.want("git show HEAD:f; git status --porcelain", "landed")
}

func TestCommitEveryKind(t *testing.T) {
	w := newWorld(t, `echo 1 >mod; echo 1 >del; echo 1 >old; echo 1 >exec; echo 1 >f2d; echo 1 >f2l
		mkdir d2f d2l deldir tree; echo 1 >d2f/x; echo 1 >d2l/x; echo 1 >deldir/a; echo 1 >deldir/b; echo 1 >tree/a`)
	w.sh(`echo 2 >mod; rm del; mv old new; chmod +x exec; rm f2d; mkdir f2d; echo 1 >f2d/x; ln -sf mod f2l
		rm -r d2f; echo 1 >d2f; mv d2l elsewhere; ln -s elsewhere d2l; rm -r deldir; mkdir -p fresh/deep; echo 1 >fresh/deep/x; echo 2 >tree/b; mkdir empty`)
	w.mustCommit(CommitSpec{Paths: w.path("mod", "del", "old", "new", "exec", "f2d", "f2l", "d2f", "d2l", "elsewhere", "deldir", "fresh", "fresh/deep", "tree", "empty")},
		w.path("empty")...)
	w.want(changedInHead, strings.Join([]string{
		"A\td2f", "D\td2f/x", "A\td2l", "D\td2l/x", "D\tdel", "D\tdeldir/a", "D\tdeldir/b", "A\telsewhere/x", "M\texec",
		"D\tf2d", "A\tf2d/x", "T\tf2l", "A\tfresh/deep/x", "M\tmod", "A\tnew", "D\told", "A\ttree/b"}, "\n"))
	w.want("git status --porcelain", "")
	w.want("git ls-tree HEAD exec | cut -c1-6", "100755")
	w.want("git ls-tree HEAD d2l f2l | cut -c1-6", "120000\n120000")
}

// Names that git would take for patterns, options or magic mean themselves.
func TestCommitOddNames(t *testing.T) {
	odd := []string{"*", "[a]", ":(top)x", ":!y", "-f", "a b", "new\nline", "tab\t", "q\"uote", "\xff\xfe", "ends\\", "ü"}
	w := newWorld(t, "echo 1 >a; echo 1 >x; echo 1 >y")
	for _, name := range odd {
		writeFile(t, w.Root+"/"+name, "1")
	}
	w.sh("echo 2 >a; echo 2 >x; echo 2 >y; echo 1 >other")
	w.mustCommit(CommitSpec{Paths: w.path(odd...)})
	want := slices.Sorted(slices.Values(odd))
	got := strings.Split(strings.TrimSuffix(w.sh("git diff-tree -z -r --no-commit-id --name-only HEAD | tr '\\0' '\\1'"), "\x01"), "\x01")
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("committed %q, want %q", got, want)
	}
	for _, name := range odd {
		writeFile(t, w.Root+"/"+name, "2")
	}
	w.mustCommit(CommitSpec{Paths: w.path(odd...)})
	w.want("git status --porcelain", " M a\n M x\n M y\n?? other")
}

// A file became a directory, deep in what is committed as a whole; and one
// became an empty directory, which git has no way to say in a partial commit.
func TestCommitFileBecameDirectory(t *testing.T) {
	w := newWorld(t, "mkdir -p a/b c; echo 1 >a/b/f; echo 1 >a/g; echo 1 >a/other; echo 1 >c/x; echo 1 >e")
	w.sh("rm a/b/f e; mkdir a/b/f e; echo 1 >a/b/f/n; echo 2 >a/g; echo 2 >c/x; echo 1 >c/y; echo 1 >a/b/m")
	w.mustCommit(CommitSpec{Paths: w.path("a", "a/g", "c", "e")}, w.path("e")...)
	w.want(changedInHead, "D\ta/b/f\nA\ta/b/f/n\nA\ta/b/m\nM\ta/g\nM\tc/x\nA\tc/y")
	w.want("git status --porcelain", " D e")
}

func TestCommitSkips(t *testing.T) {
	w := newWorld(t, "printf '*.log\\nbuild/\\n' >.gitignore; mkdir build; echo 1 >build/keep; git add -f build/keep; echo 1 >f")
	w.sh(`echo 2 >f; echo 1 >x.log; echo 1 >build/out; echo 2 >build/keep; mkdir -p e/e; mkfifo fifo
		mkdir nested; git -C nested init -q; echo 1 >nested/x; mkdir d; echo 1 >d/y; echo 1 >d/z.log`)
	skip := append(w.path(".git/hooks/pre-commit", "build/out", "e", "e/e", "fifo", "nested", "nested/x", "never", "x.log"), "/etc/passwd")
	slices.Sort(skip)
	w.mustCommit(CommitSpec{Paths: append(w.path("f", "build", "build/keep", "d"), skip...)}, skip...)
	w.want(changedInHead, "M\tbuild/keep\nA\td/y\nM\tf")
}

func TestCommitNothing(t *testing.T) {
	w := newWorld(t, "echo 1 >f; echo '*.log' >.gitignore; echo 1 >staged")
	w.sh("echo 1 >x.log; touch f; echo 2 >staged; git add staged")
	for _, paths := range [][]string{nil, w.path("x.log"), w.path("f"), {"/etc"}, w.path("x.log", "f")} {
		if e := w.refused(t.Context(), CommitSpec{Paths: paths}, "nothing to commit"); e == nil || e.Code != forkbox.Invalid || len(e.Hints) == 0 {
			t.Errorf("%q: %+v", paths, e)
		}
	}
	w.refused(t.Context(), CommitSpec{Paths: []string{"f"}}, "not an absolute path")
	w.refused(t.Context(), CommitSpec{Paths: w.path("f\x00")}, "not an absolute path")
}

func TestFirstCommit(t *testing.T) {
	w := newWorld(t, "")
	w.sh("rm -rf .git; git init -q .; echo 1 >a; echo 1 >b")
	w.hook("pre-commit", "exit 1")
	w.refused(t.Context(), CommitSpec{Paths: w.path("a"), Hooks: true}, "")
	w.sh("rm .git/hooks/pre-commit; git add b")
	w.mustCommit(CommitSpec{Paths: w.path("a")})
	w.want(changedInHead+"; git status --porcelain", "A\ta\nA  b")
}

func TestCommitDuringAMerge(t *testing.T) {
	w := newWorld(t, "echo 1 >f; echo 1 >g")
	w.sh("git checkout -q -b side; echo side >f; git commit -qam side; git checkout -q main; echo main >f; git commit -qam main; git merge side || true; echo 2 >g")
	w.refused(t.Context(), CommitSpec{Paths: w.path("g")}, "partial commit during a merge")
	w.sh("git merge --abort; git cherry-pick side || true; echo 2 >g")
	w.refused(t.Context(), CommitSpec{Paths: w.path("g")}, "partial commit during a cherry-pick")
	w.sh("git cherry-pick --abort; echo 2 >g; git rebase -q --autostash side || true; echo 3 >g")
	w.refused(t.Context(), CommitSpec{Paths: w.path("g")}, "a rebase is in progress")
	w.sh("git rebase --abort; git checkout -q --force; git revert side || true; echo 3 >g")
	w.refused(t.Context(), CommitSpec{Paths: w.path("g")}, "a revert is in progress")
}

// The caller may know the work tree by a path with a symlink in it.
func TestCommitThroughASymlinkedRoot(t *testing.T) {
	w := newWorld(t, "echo 1 >f; mkdir d")
	link := t.TempDir() + "/link"
	w.sh("echo 2 >f; echo 1 >d/n; ln -s \"$PWD\" " + link)
	r := Repo{Root: link, Owner: w.Owner}
	_, skipped, err := r.Commit(t.Context(), CommitSpec{Paths: []string{link + "/f", w.Root + "/d/n"}})
	if err != nil || len(skipped) > 0 {
		t.Fatal(skipped, err)
	}
	w.want(changedInHead, "A\td/n\nM\tf")
}

func TestCommitWhereThereIsNoRepository(t *testing.T) {
	r := Repo{Root: t.TempDir(), Owner: someone(t)}
	_, _, err := r.Commit(t.Context(), CommitSpec{Paths: []string{r.Root + "/f"}})
	if err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Error(err)
	}
}
