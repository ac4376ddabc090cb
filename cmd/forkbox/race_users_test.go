//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestPromise8RacesOfOtherUsers: a daemon of root's serves every user, and a
// race is the business of its owner alone.
func TestPromise8RacesOfOtherUsers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only a daemon of root's serves several users")
	}
	w := newRaceWorld(t)
	w.must("race", "-d", "--name", "mine", "--try", "a=echo s3cret > f; touch here; "+awaits("go"), "--try", "b=true")
	w.awaitFile("mine-a", "here")
	id := w.show("mine").ID
	page := w.file("page.html")
	for _, ref := range []string{"mine", id, id[:4]} {
		for _, args := range [][]string{
			{"show", ref}, {"watch", ref}, {"log", ref, "a"}, {"log", "-f", ref, "a"}, {"diff", ref, "a"}, {"diff", ref, "a", "b"},
			{"compare", ref, "--html", page}, {"apply", "--yes", ref}, {"apply", "--yes", ref, "a"}, {"cancel", ref}, {"rerun", ref}, {"rm", ref}, {"rm", "--force", ref},
		} {
			out, said, code := w.theirs(append([]string{"race"}, args...)...)
			if code != 125 || !strings.Contains(said, ref) || strings.Contains(out+said, "s3cret") {
				t.Errorf("another user's race %q: exit %d: %s%s", args, code, out, said)
			}
		}
	}
	if out, _, code := w.theirs("race", "ls", "--json"); code != 0 || strings.Contains(out, id) {
		t.Errorf("another user's race ls: exit %d: %s", code, out)
	}
	// A race from another user's snapshot is no way in.
	w.must("new", "--name", "base")
	w.must("snapshot", "base", "point")
	if out, said, code := w.theirs("race", "--from", "base@point", "--try", "a=true"); code != 125 {
		t.Errorf("another user begins at my snapshot: exit %d: %s%s", code, out, said)
	}
	// Names are per owner, and boxes of a race are its owner's.
	if out, said, code := w.theirs("race", "--name", "mine", "--try", "a=id -u > /tmp/who; cat /tmp/who", "--check", "grep -qx 65534 /tmp/who"); code != 0 {
		t.Errorf("another user's own race: exit %d: %s%s", code, out, said)
	}
	if out, said, code := w.theirs("race", "rm", "mine"); code != 0 {
		t.Errorf("another user's rm: exit %d: %s%s", code, out, said)
	}
	w.letGo("mine-a")
	out := w.must("race", "watch", "mine", "--json")
	if r := w.ended(out); r.State != forkbox.RaceFinished || outcomes(r) != "a:passed b:passed" {
		t.Errorf("%s", told(r))
	}
}

// theirs is forkbox run by nobody, with the daemon of root's.
func (w *world) theirs(args ...string) (out, said string, code int) {
	w.Helper()
	program := w.file("forkbox")
	if _, err := os.Stat(program); err != nil {
		self, err := exec.LookPath("forkbox")
		w.ok(err)
		text, err := os.ReadFile(self)
		w.ok(errors.Join(err, os.Chmod(filepath.Dir(w.home), 0o711), os.WriteFile(program, text, 0o755)))
	}
	cmd := w.command()
	cmd.Path, cmd.Args, cmd.Dir = program, append([]string{"forkbox"}, args...), "/"
	cmd.Env = append(cmd.Env, "HOME=/nonexistent", "FORKBOX_HOME=/nonexistent", "FORKBOX_SOCKET="+filepath.Join(w.home, "forkbox.sock"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return w.finish(cmd)
}
