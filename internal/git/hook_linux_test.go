package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A hook that says no: the index is byte for byte what it was.
func TestFailedCommitLeavesEverythingAsItWas(t *testing.T) {
	w := newWorld(t, "echo 1 >f; echo 1 >mine; echo 1 >gone")
	w.sh("echo 2 >mine; git add mine; echo 2 >f; echo 1 >new; rm gone")
	for _, hook := range []string{"pre-commit", "prepare-commit-msg", "commit-msg"} {
		w.hook(hook, "printf 'the linter says \\033[31mno\\033[0m' >&2; exit 1")
		e := w.refused(t.Context(), CommitSpec{Paths: w.path("f", "new", "gone"), Hooks: true}, "the linter says")
		if strings.ContainsRune(e.Error(), '\033') {
			t.Errorf("%q would command a terminal", e.Error())
		}
		w.sh("rm .git/hooks/" + hook)
	}
	w.hook("pre-commit", "unset GIT_INDEX_FILE; rm -f .git/index.lock; git reset -q --hard; exit 1")
	w.sh("cp -a .git/index index.kept")
	if _, _, err := w.Commit(t.Context(), CommitSpec{Paths: w.path("f"), Hooks: true}); err == nil {
		t.Fatal("no error")
	}
	w.sh("cmp .git/index index.kept") // although the hook had written it
}

// A formatter in a hook alters what is committed; the index must not be left
// at what it was before.
func TestHookThatRewritesFiles(t *testing.T) {
	w := newWorld(t, "echo 1 >f; echo 1 >mine")
	w.sh("echo 2 >mine; git add mine; echo 2 >f")
	w.hook("pre-commit", "echo formatted >>f; git add f")
	w.mustCommit(CommitSpec{Paths: w.path("f"), Hooks: true})
	w.want("git show HEAD:f; git status --porcelain", "2\nformatted\nM  mine")
}

// Hooks use wildcards, and find nothing of the daemon's environment.
func TestHooksRunAsUsual(t *testing.T) {
	t.Setenv("GIT_DIR", "/nowhere")
	t.Setenv("GIT_AUTHOR_NAME", "daemon")
	t.Setenv("DAEMON_SECRET", "x")
	w := newWorld(t, "echo 1 >a.txt")
	w.sh("echo 2 >a.txt")
	w.hook("pre-commit", "env >../seen.$$; mv ../seen.$$ seen; git diff --cached --name-only -- '*.txt' >names")
	w.mustCommit(CommitSpec{Paths: w.path("a.txt"), Hooks: true})
	w.want("cat names", "a.txt")
	w.want("git log -1 --format=%an", "Ada")
	seen := w.sh("cat seen")
	for _, bad := range []string{"DAEMON_SECRET", "/nowhere", "LITERAL", "OPTIONAL_LOCKS"} {
		if strings.Contains(seen, bad) {
			t.Errorf("the hook saw %s:\n%s", bad, seen)
		}
	}
	if !strings.Contains(seen, "HOME="+w.Owner.Home+"\n") || !strings.Contains(seen, "USER=ada\n") {
		t.Errorf("the hook saw\n%s", seen)
	}
}

// When the caller gives up, the hook and what it started end, and everything
// is as it was: also when the commit was made already.
func TestCancelledCommit(t *testing.T) {
	for _, hook := range []string{"pre-commit", "post-commit"} {
		t.Run(hook, func(t *testing.T) {
			w := newWorld(t, "echo 1 >f; echo 1 >mine")
			w.sh("echo 2 >mine; git add mine; echo 2 >f; echo 1 >new")
			pidFile := filepath.Join(t.TempDir(), "pid")
			w.hook(hook, "sleep 1000 & echo $! >"+pidFile+".new; mv "+pidFile+".new "+pidFile+"; wait")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			pid := make(chan int, 1)
			go func() {
				pid <- waitForPid(t, pidFile)
				cancel()
			}()
			before := w.photo()
			if _, _, err := w.Commit(ctx, CommitSpec{Paths: w.path("f", "new"), Hooks: true}); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			if after := w.photo(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			wantGone(t, <-pid)
		})
	}
}

func waitForPid(t *testing.T, file string) int {
	for range 3000 {
		if text, err := os.ReadFile(file); err == nil {
			pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
			return pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the hook did not start")
	return 0
}

// wantGone waits until a process is gone, or is a zombie that only its parent
// can clear away.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	for range 500 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	unix.Kill(pid, unix.SIGKILL)
	t.Errorf("process %d still runs", pid)
}

// A process that a hook leaves behind holds git's output open; the commit is
// made all the same.
func TestHookLeavesSomethingRunning(t *testing.T) {
	w := newWorld(t, "echo 1 >f")
	w.sh("echo 2 >f")
	pidFile := filepath.Join(t.TempDir(), "pid")
	w.hook("post-commit", "sleep 1000 & echo $! >"+pidFile)
	w.mustCommit(CommitSpec{Paths: w.path("f"), Hooks: true})
	unix.Kill(waitForPid(t, pidFile), unix.SIGKILL)
}

// Another program's lock is not ours to break.
func TestAnotherGitAtWork(t *testing.T) {
	w := newWorld(t, "echo 1 >f")
	w.sh("echo 2 >f; touch .git/index.lock")
	e := w.refused(t.Context(), CommitSpec{Paths: w.path("f"), Hooks: true}, "index.lock")
	if len(e.Hints) == 0 || !strings.Contains(e.Hints[0], "another git") {
		t.Errorf("%+v", e)
	}
}
