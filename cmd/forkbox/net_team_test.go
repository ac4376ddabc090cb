//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestTeam: boxes of a team reach each other by name, others do not, and the
// team is no way out.
func TestTeam(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	for _, box := range []struct{ name, team string }{{"api", "red"}, {"web", "red"}, {"spy", "blue"}} {
		w.must("new", "--name", box.name, "--net", "team:"+box.team, "--net-preset", "locked")
		w.starts(box.name, "/usr/bin/python3", "-m", "http.server", "--bind", "::", "8000")
		w.must("wait", box.name, "--port", "8000")
	}
	w.makeBox("alone")
	w.works("web", w.inside("get", "http://api:8000/")...)
	w.works("api", w.inside("get", "http://web:8000/")...)
	w.works("web", w.inside("get", "http://web:8000/")...)
	for _, outsider := range []string{"spy", "alone"} {
		w.failsIn(outsider, w.inside("dial", "tcp", "api:8000")...)
		w.recorded(outsider, want{state: forkbox.ConnRefused, host: "api", port: 8000})
	}
	w.recorded("web", want{host: "api", port: 8000, state: forkbox.ConnClosed})
	addr := strings.Fields(w.works("web", w.inside("lookup", "api")...))[1]
	w.failsIn("spy", w.inside("dial", "tcp", addr+":8000")...) // outside the team no box has its address
	w.failsIn("web", w.inside("dial", "tcp", w.name("evil", w.Canary4)+":8000")...)
	w.silent(w.Canary4)
}

// TestTeamRests: who is at rest, or gone, is not there.
func TestTeamRests(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	w.must("new", "--name", "api", "--net", "team:red", "--net-preset", "locked")
	w.must("new", "--name", "web", "--net", "team:red", "--net-preset", "locked")
	w.failsIn("web", w.inside("dial", "tcp", "api:8000")...) // at rest nothing listens there
	w.starts("api", "/usr/bin/python3", "-m", "http.server", "--bind", "0.0.0.0", "8000")
	w.must("wait", "api", "--port", "8000")
	w.works("web", w.inside("get", "http://api:8000/")...)
	w.must("rm", "-f", "api")
	w.failsIn("web", w.inside("dial", "tcp", "api:8000")...)
}

// TestPromise8OtherUsers: boxes of another user are no teammates, whatever they
// call their team, and their log, their ports and their secrets are their own.
func TestPromise8OtherUsers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only a daemon of root's serves several users")
	}
	w := newNetWorld(t)
	w.must("new", "--name", "api", "--net", "team:red", "--net-preset", "locked")
	w.starts("api", "/usr/bin/python3", "-m", "http.server", "--bind", "0.0.0.0", "8000")
	w.must("wait", "api", "--port", "8000")
	w.theirs("new", "--name", "spy", "--net", "team:red", "--net-preset", "locked")
	if out, err := w.theirsTry("exec", "spy", "--", "curl", "-sS", "--max-time", "20", "http://api:8000/"); err == nil || hung.MatchString(out) {
		t.Errorf("another user's box reaches a team of the same name: %v %s", err, out)
	}
	for _, args := range [][]string{
		{"net", "log", "api"}, {"net", "show", "api"}, {"net", "allow", "api", "*"}, {"net", "explain", "api", "example.com"},
		{"port", "api", "8000"}, {"open", "api", "8000", "--no-browser"}, {"wait", "api", "--port", "8000"},
	} {
		if out, err := w.theirsTry(args...); err == nil {
			t.Errorf("another user may %q: %s", args, out)
		}
	}
	w.theirs("rm", "-f", "spy")
}

// theirs is forkbox run by nobody, of the daemon of root's.
func (w *netWorld) theirs(args ...string) string {
	w.Helper()
	out, err := w.theirsTry(args...)
	if err != nil {
		w.Fatalf("as nobody forkbox %q: %v\n%s\n%s", args, err, out, w.log())
	}
	return out
}

func (w *netWorld) theirsTry(args ...string) (string, error) {
	w.Helper()
	program := w.file("forkbox")
	if _, err := os.Stat(program); err != nil {
		self, err := os.ReadFile(w.self)
		w.ok(errors.Join(err, os.Chmod(filepath.Dir(w.home), 0o711), os.WriteFile(program, self, 0o755)))
	}
	cmd := w.command()
	cmd.Path, cmd.Args, cmd.Dir = program, append([]string{"forkbox"}, args...), "/"
	cmd.Env = append(cmd.Env, "HOME=/nonexistent", "FORKBOX_HOME=/nonexistent", "FORKBOX_SOCKET="+filepath.Join(w.home, "forkbox.sock"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return combined(cmd)
}
