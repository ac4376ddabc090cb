//go:build linux

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// withoutRoot is the world of an unprivileged user, on a host that root made as a
// test needs it: it takes both.
type withoutRoot struct {
	t    *testing.T
	who  *user.User
	dir  string // the user's
	home string // of forkbox
	// host is a shell script that root runs first, with mounts that only what
	// comes after it sees.
	host string
}

func newWithoutRoot(t *testing.T) *withoutRoot {
	t.Helper()
	who, err := user.Lookup("fbtest")
	if os.Geteuid() != 0 || err != nil {
		t.Skip("only root can set this up, and there has to be a user fbtest")
	}
	w := &withoutRoot{t: t, who: who, dir: copiedFor(t, who), host: ":"}
	w.home = filepath.Join(w.dir, "h")
	if err := os.Rename(filepath.Join(w.dir, "forkbox.test"), filepath.Join(w.dir, "forkbox")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopDaemon(t, w.home) })
	return w
}

// sh runs a script as the user, with forkbox in its path and $DIR as a directory
// of theirs, which is also where it begins. Its output and errors come as one.
func (w *withoutRoot) sh(script string) (out string, code int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--propagation", "private", "sh", "-c", w.host+` && exec "$@"`, "sh",
		"setpriv", "--reuid", w.who.Uid, "--regid", w.who.Gid, "--init-groups", "--inh-caps=-all",
		"env", "-i", "HOME="+w.dir, "USER="+w.who.Username, "PATH="+w.dir+":"+os.Getenv("PATH"), "LANG=C.UTF-8",
		"FORKBOX_HOME="+w.home, "FORKBOX_IDLE=1m", "DIR="+w.dir, "sh", "-c", script)
	cmd.Dir, cmd.WaitDelay = w.dir, time.Second
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("%s: %v\n%s", script, err, text)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// mustSh is sh for what has to succeed.
func (w *withoutRoot) mustSh(script string) string {
	w.t.Helper()
	out, code := w.sh(script)
	if code != 0 {
		w.t.Fatalf("%s\nexit %d:\n%s", script, code, out)
	}
	return out
}

// TestWithoutRootEOVERFLOWIsExplained: what another user owns cannot be copied
// up, and the kernel's word for that does not tell the reason. It is said once in a
// box, where a user reads it.
func TestWithoutRootEOVERFLOWIsExplained(t *testing.T) {
	t.Parallel()
	w := newWithoutRoot(t)
	theirs := filepath.Join(w.dir, "theirs") // of root's, which every user may write to
	if err := errors.Join(os.Mkdir(theirs, 0o777), os.Chmod(theirs, 0o777)); err != nil {
		t.Fatal(err)
	}
	const note, fails = "note: without root", " sh -c 'touch theirs/x'"
	for _, step := range []struct {
		script string
		notes  int
	}{
		{"forkbox run --name one --keep --net none --" + fails, 1},
		{"forkbox exec one --" + fails, 0},                   // it was said
		{"forkbox stop one; forkbox exec one --" + fails, 0}, // and is remembered
		{"forkbox new --name two --net none; forkbox exec -d two --" + fails + "; forkbox exec two --" + fails, 1},
		{"forkbox run -q --discard --net none --" + fails, 0},
		{"forkbox run --discard --net none -- sh -c 'touch theirs/x; true'", 0}, // it did not fail
		{"forkbox run --discard --net none -- sh -c 'echo Value too small; exit 3'", 0},
		{"forkbox run --json --discard --net none --" + fails + ` | grep -c '"note": "without root'`, 0},
	} {
		out, _ := w.sh(step.script)
		if got := strings.Count(out, note); got != step.notes {
			t.Errorf("%s\nwas explained %d times, not %d:\n%s", step.script, got, step.notes, out)
		}
		if strings.Contains(step.script, "--json") && !strings.Contains(out, "\n1\n") && !strings.HasSuffix(out, "1\n") {
			t.Errorf("the document does not say it:\n%s", out)
		}
	}
}

// TestWithoutRootTopsDoNotLand: the top directory of each overlay is the user's,
// so there a box takes what reality would refuse. It is shown, and an apply with
// it in is refused by name before anything lands.
func TestWithoutRootTopsDoNotLand(t *testing.T) {
	t.Parallel()
	w := newWithoutRoot(t)
	w.mustSh("mkdir work && echo old > work/mine && forkbox new --name one --net none")
	w.mustSh("cd work && forkbox exec one -- sh -c 'echo new > mine; touch /etc/fbtest-top; mkdir /etc/fbtest-dir; touch /etc/fbtest-dir/x'")
	if out := w.mustSh("cd work && forkbox diff --all one"); !strings.Contains(out, "/etc/fbtest-top") {
		t.Errorf("the diff does not have it:\n%s", out)
	}
	// A dry run promises nothing else, and all of it is named.
	for _, how := range []string{"--yes", "--dry-run"} {
		out, code := w.sh("cd work && forkbox apply --all " + how + " one")
		for _, words := range []string{"2 changes lie where", "/etc/fbtest-top: you may not write to its directory", "/etc/fbtest-dir: you may not", "hint: leave it out"} {
			if !strings.Contains(out, words) || code != 125 {
				t.Errorf("%s: exit %d, and it does not say %q:\n%s", how, code, words, out)
			}
		}
	}
	if got := w.mustSh("cat work/mine; ls -A work"); got != "old\nmine\n" {
		t.Errorf("something landed, or stayed: %q", got)
	}
	w.mustSh("cd work && forkbox apply --yes one mine && grep -qx new mine")
}

// TestWithoutRootMountsBelowVar: what is mounted below a directory has it put
// together from stand-ins. They are as reality's, setgid bits too, so that nothing
// shows as changed that the box did not change, and everything can land.
func TestWithoutRootMountsBelowVar(t *testing.T) {
	t.Parallel()
	w := newWithoutRoot(t)
	// A /var of its own: not every host has a setgid directory in it. Opened
	// again and again, its mounts are what each script makes.
	w.host = `mount -t tmpfs -o mode=755 none /var && mkdir -m 2775 /var/mail /var/local && mkdir -m 1777 /var/tmp &&
		mkdir /var/x && mount -t tmpfs none /var/x && echo x > /var/x/file`
	out := w.mustSh(`mkdir work && echo old > work/mine && cd work && forkbox new --name one --net none &&
		forkbox exec one -- sh -c 'echo new > mine; cat /var/x/file' && forkbox diff --all one && forkbox apply --all --yes one && cat mine && forkbox diff --all one`)
	for _, words := range []string{"x\n", "modified      4 B  mine\n", "landed 1 path ", "nothing changed"} {
		if !strings.Contains(out, words) {
			t.Errorf("%q is missing", words)
		}
	}
	if strings.Contains(out, "/var/") || !strings.Contains(out, "new\n") {
		t.Errorf("it says something of /var, or did not land:\n%s", out)
	}
}

// TestWithoutRootMountsBelowAMount: a filesystem with another one in it has no
// overlay of its own, and was there all the same when the box began.
func TestWithoutRootMountsBelowAMount(t *testing.T) {
	t.Parallel()
	w := newWithoutRoot(t)
	w.host = `mkdir -p "$PWD/own" && mount -t tmpfs -o mode=777 none own && mkdir own/x && mount -t tmpfs none own/x`
	out := w.mustSh(`cd own && mkdir sub && forkbox new --name one --net none &&
		forkbox exec one -- sh -c 'echo new > file; echo below > sub/file; mkdir dir; echo in > dir/file' &&
		forkbox apply --all --yes one && cat file sub/file dir/file`)
	if !strings.HasSuffix(out, "new\nbelow\nin\n") {
		t.Errorf("it did not land:\n%s", out)
	}
}
