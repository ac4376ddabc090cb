package git

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// world is a repository with one commit, and a home that says who commits.
type world struct {
	testing.TB
	Repo
}

// someone is the user who runs the test, with a home of their own.
func someone(t testing.TB) forkbox.Owner {
	home := t.TempDir()
	config := "[user]\n name = Ada\n email = ada@example.org\n[init]\n defaultBranch = main\n[gc]\n auto = 0\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return forkbox.Owner{UID: os.Geteuid(), GID: os.Getegid(), Name: "ada", Home: home}
}

// newWorld runs a script in an empty repository, and commits what it made.
func newWorld(t testing.TB, script string) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, Repo{Root: root, Owner: someone(t)}}
	w.sh("git init -q .\n" + script + "\ngit add -A . && git commit -q --allow-empty -m first")
	return w
}

// sh runs a script in the work tree as the owner, and returns what it printed.
func (w *world) sh(script string) string {
	w.Helper()
	cmd := exec.Command("bash", "-euc", script)
	cmd.Dir, cmd.Env = w.Root, w.environment()
	if err := w.rights(cmd); err != nil {
		w.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// want compares what a script prints.
func (w *world) want(script, want string) {
	w.Helper()
	if got := w.sh(script); got != want {
		w.Errorf("%s:\n%q, want\n%q", script, got, want)
	}
}

func (w *world) path(names ...string) []string {
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = w.Root + "/" + n
	}
	return paths
}

func (w *world) hook(name, script string) {
	w.Helper()
	file := filepath.Join(w.Root, ".git/hooks", name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.Chown(file, w.Owner.UID, w.Owner.GID); err != nil {
		w.Fatal(err)
	}
}

// fence is a moment as filesystems stamp it: all that was written so far has
// an earlier time, and what is written from now on has not.
func (w *world) fence() time.Time {
	w.Helper()
	probe := filepath.Join(w.TempDir(), "probe")
	if err := os.WriteFile(probe, nil, 0o600); err != nil {
		w.Fatal(err)
	}
	info, err := os.Lstat(probe)
	if err != nil {
		w.Fatal(err)
	}
	for {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
			w.Fatal(err)
		}
		if fence := time.Unix(now.Unix()); fence.After(changeTime(info)) {
			return fence
		}
		time.Sleep(time.Millisecond)
	}
}

// photo is all that a failed commit must leave as it was.
func (w *world) photo() string {
	w.Helper()
	return w.sh(`git rev-parse -q --verify HEAD || echo unborn
		(cd .git && find . -path ./objects -prune -o -path ./logs -prune -o -type f -print | grep -v COMMIT_EDITMSG | sort)
		if [ -e .git/index ]; then sha256sum .git/index; stat -c '%y %a %u' .git/index; fi
		git --no-optional-locks status --porcelain -uall`)
}

// refused commits, expects git or us to say no with these words, and that
// nothing is different afterwards.
func (w *world) refused(ctx context.Context, spec CommitSpec, words string) *forkbox.Error {
	w.Helper()
	before := w.photo()
	_, _, err := w.Commit(ctx, spec)
	if err == nil || !strings.Contains(err.Error(), words) {
		w.Fatalf("got %v, want words %q", err, words)
	}
	if after := w.photo(); after != before {
		w.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	e, _ := err.(*forkbox.Error)
	return e
}
