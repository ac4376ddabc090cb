package git

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// ways are how a repository has git run something. setup is run in a work tree
// with the files f.txt and .gitattributes ("*.txt filter=x diff=x merge=x") in
// its first commit; RUN is a program that leaves a mark. control is what makes
// git run it, to know that the setup is right.
var ways = []struct{ name, setup, control string }{
	{"hook", `for h in pre-commit prepare-commit-msg commit-msg post-commit post-index-change reference-transaction; do cp $RUN .git/hooks/$h; done`, "git commit -qam x"},
	{"hooksPath", `mkdir .husky; for h in pre-commit commit-msg post-index-change; do cp $RUN .husky/$h; done; git config core.hooksPath .husky`, "git commit -qam x"},
	{"clean filter", `git config filter.x.clean $RUN`, "git add f.txt"},
	{"filter with =", `git config filter.x=y.clean $RUN; echo '*.txt filter=x=y' >.gitattributes; git commit -qm attributes .gitattributes`, "git add f.txt"},
	{"required clean filter", `git config filter.x.clean $RUN; git config filter.x.required true`, "git add f.txt"},
	{"smudge filter", `git config filter.x.smudge $RUN`, "git checkout -q f.txt"},
	{"process filter", `git config filter.x.process $RUN`, "git add f.txt"},
	{"textconv", `git config diff.x.textconv $RUN`, "git diff"},
	{"diff driver", `git config diff.x.command $RUN`, "git diff"},
	{"external diff", `git config diff.external $RUN`, "git diff"},
	{"merge driver", `git config merge.x.driver $RUN`, "git stash -q; git checkout -q -b o; echo 5 >f.txt; git commit -qam o; git checkout -q -; echo 6 >f.txt; git commit -qam m; git merge o"},
	{"fsmonitor", `git config core.fsmonitor $RUN`, "git status"},
	{"include", `printf '[core]\nfsmonitor = %s\n' $RUN >shared.cfg; git config include.path ../shared.cfg`, "git status"},
	{"alias", `git config alias.st "!$RUN"; git config alias.status "!$RUN"`, "git st"},
	{"pager", `git config core.pager $RUN; git config pager.diff-index $RUN; git config pager.status $RUN`, ""},
	{"editor", `git config core.editor $RUN; git config sequence.editor $RUN`, "git commit -a"},
	{"signer", `git config commit.gpgSign true; git config gpg.program $RUN`, "git commit -qam x"},
	{"trailer", `git config trailer.x.command $RUN; git config trailer.x.ifmissing add`, "echo m | git interpret-trailers --trailer x"},
	{"transport", `git config core.sshCommand $RUN; git config credential.helper $RUN; git config remote.origin.url ssh://localhost/x
		git config remote.origin.promisor true; git config remote.origin.partialCloneFilter blob:none; git config core.repositoryFormatVersion 1
		git config extensions.partialClone origin; o=$(git rev-parse HEAD:f.txt); rm -f .git/objects/${o%${o#??}}/${o#??}`, "git cat-file -p HEAD:f.txt"},
	{"submodule", `git init -q sub; git -C sub commit -q --allow-empty -m s; git add sub; git commit -qm sub
		printf '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n' >.gitmodules; git -C sub config core.fsmonitor $RUN`, "git status"},
}

// TestNothingThatARepositoryNamesIsRun: not by what status, diff and apply ask
// git, and not by a commit that was not told to.
func TestNothingThatARepositoryNamesIsRun(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			w, marked := armed(t, way.setup)
			if way.control != "" {
				other, marked := armed(t, way.setup)
				cmd := exec.Command("sh", "-c", way.control)
				cmd.Dir, cmd.Env = other.Root, other.environment()
				out, _ := cmd.CombinedOutput() // many fail, for the program is none of the kind
				if !marked() {
					t.Fatalf("the set-up does not work: %s", out)
				}
			}
			useAll(t, w)
			if marked() {
				t.Error("git ran what the repository names")
			}
		})
	}
}

// armed is a work tree in which something waits to be run, with a change in it.
func armed(t *testing.T, setup string) (*world, func() bool) {
	t.Helper()
	w := newWorld(t, "echo 1 >f.txt; echo '*.txt filter=x diff=x merge=x' >.gitattributes")
	mark, program := filepath.Join(w.Owner.Home, "mark"), filepath.Join(w.Owner.Home, "run")
	writeFile(t, program, "#!/bin/sh\ntouch "+mark+"\n[ \"$1\" = cat ] && exec cat\nexit 1\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	w.sh("RUN=" + program + "\n" + setup)
	_ = os.Remove(mark) // of hooks that the set-up ran
	writeFile(t, filepath.Join(w.Root, "f.txt"), "2\n")
	writeFile(t, filepath.Join(w.Root, "new.txt"), "new\n")
	return w, func() bool {
		_, err := os.Lstat(mark)
		return err == nil
	}
}

// useAll asks git everything that forkbox asks it. What it answers is not the
// point here.
func useAll(t *testing.T, w *world) {
	t.Helper()
	ctx := t.Context()
	head, err := w.head(ctx)
	if err != nil || head == "" {
		t.Fatal(head, err)
	}
	_, _, _ = w.Scan(ctx, w.fence())
	_, _ = w.Since(ctx, head)
	_, _, _ = w.Blob(ctx, head, "f.txt")
	_, _, _ = w.Blob(ctx, head, ".gitattributes")
	_, _ = w.Tracked(ctx, head)
	_, _ = w.Runs(ctx)
	_, _ = w.IdleHooks(ctx)
	for _, paths := range [][]string{w.path("f.txt"), w.path("new.txt"), w.path("f.txt")} {
		id, _, err := w.Commit(ctx, CommitSpec{Paths: paths, Message: "m", Box: "b", Receipt: "r"})
		if err == nil {
			_, _ = w.Uncommit(ctx, id)
		}
	}
}

// TestCommitNeedsAFilterOfTheRepositorys: without it the commit would have
// other bytes than the repository wants, and with it a program would run.
func TestCommitNeedsAFilterOfTheRepositorys(t *testing.T) {
	t.Parallel()
	w, marked := armed(t, "git config filter.x.clean \"$RUN cat\"")
	_, _, err := w.Commit(t.Context(), CommitSpec{Paths: w.path("f.txt")})
	if forkbox.CodeOf(err) != forkbox.Unsupported || !strings.Contains(err.Error(), `the filter "x"`) || marked() {
		t.Error(err)
	}
	w.mustCommit(CommitSpec{Paths: w.path("f.txt"), Hooks: true})
	if !marked() {
		t.Error("the filter did not run although the caller wants hooks")
	}
}

// TestFiltersOfTheUsersOwnRunForACommit: git-lfs is one.
func TestFiltersOfTheUsersOwnRunForACommit(t *testing.T) {
	t.Parallel()
	w, marked := armed(t, "git config --global filter.x.clean \"$RUN cat\"")
	if _, err := w.Since(t.Context(), w.sh("git rev-parse HEAD")); err != nil || marked() {
		t.Error("reading ran it", err)
	}
	w.mustCommit(CommitSpec{Paths: w.path("f.txt", "new.txt")})
	if !marked() {
		t.Error("it did not run")
	}
}

// TestARepositoryInADirectoryOfAnotherName is none.
func TestARepositoryInADirectoryOfAnotherName(t *testing.T) {
	t.Parallel()
	w, marked := armed(t, `git init -q --bare vendor; git -C vendor config core.bare false; git -C vendor config core.worktree .; git -C vendor config core.fsmonitor $RUN`)
	inner := Repo{Root: w.Root + "/vendor", Owner: w.Owner}
	if repo, ok, err := Find(t.Context(), inner.Root, w.Owner); ok && repo.Root != w.Root {
		t.Error(repo, ok, err)
	}
	_, _, _ = inner.Scan(t.Context(), w.fence())
	if marked() {
		t.Error("git ran what the inner repository names")
	}
}

// TestRunsNamesThePlaces: as git says where they are.
func TestRunsNamesThePlaces(t *testing.T) {
	t.Parallel()
	w, _ := armed(t, `git config core.hooksPath .husky; git config include.path ../shared.cfg; touch tool.sh
		git config filter.x.clean 'sh tool.sh --flag'; git config diff.x.textconv bin/conv; git config credential.helper store; git config alias.lg 'log f.txt'`)
	places, err := w.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for path, why := range map[string]string{
		".husky": "git hook", ".git/config": "git configuration", "shared.cfg": "git configuration, by include.path",
		"tool.sh": "git runs it, by filter.x.clean", "bin/conv": "git runs it, by diff.x.textconv",
	} {
		if got := places[w.Root+"/"+path]; got != why {
			t.Errorf("%s: %q, want %q", path, got, why)
		}
	}
	for path, why := range places {
		if rel, ok := strings.CutPrefix(path, w.Root+"/"); ok && (rel == "store" || rel == "f.txt" || rel == "log") {
			t.Errorf("%s: %s", rel, why)
		}
	}
}

// TestNothingElseRunsGit: there is one place where git is run, and it is here.
func TestNothingElseRunsGit(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/scripts/") {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), `"git"`) && !strings.HasSuffix(path, "internal/git/run.go") {
			for _, line := range strings.Split(string(text), "\n") {
				if strings.Contains(line, `"git"`) && (strings.Contains(line, "exec.") || strings.Contains(line, "LookPath") || strings.Contains(line, "StartProcess")) {
					t.Errorf("%s: %s", path, strings.TrimSpace(line))
				}
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestGitIsNotTheBoxs: what a box landed in a directory that is in the daemon's
// PATH is not taken for git.
func TestGitIsNotTheBoxs(t *testing.T) {
	w, marked := armed(t, `mkdir bin; cp $RUN bin/git; cp $RUN bin/git-status`)
	t.Setenv("PATH", filepath.Join(w.Root, "bin")+":bin:"+os.Getenv("PATH"))
	useAll(t, w)
	if marked() {
		t.Error("it was run")
	}
}
