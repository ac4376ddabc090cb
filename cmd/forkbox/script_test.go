//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/api/apitest"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/daemon/launch"
	"github.com/forkbox/forkbox/internal/server"
	"github.com/forkbox/forkbox/internal/services/containers/contained"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the forkbox that the scripts run, and the
// init of their boxes.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); name == initName || name == holderName || os.Args[0] == contained.Program {
		os.Exit(run(os.Args...))
	}
	server.CheckAnswer = noteMismatch
	// What a shell starts in the background ignores ctrl-C, and so would all
	// that is started here; what is handled is not ignored by children.
	if strings.HasSuffix(os.Args[0], ".test") && signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	testscript.Main(m, map[string]func(){
		"forkbox": func() { os.Exit(runForkbox()) },
	})
}

// TestScripts runs testdata/*.txtar against the real binary, each with a home
// and so a daemon of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			_, err := scriptHome(t, env)
			return err
		},
	})
}

// scriptHome gives a script a home, and so a daemon, of its own. This is where
// every script's environment is set.
func scriptHome(t *testing.T, env *testscript.Env) (home string, err error) {
	if home, err = tempHome(); err != nil {
		return "", err
	}
	for _, variable := range append(homeEnv(home), "SHELL=/bin/sh", "USER="+os.Getenv("USER")) {
		name, value, _ := strings.Cut(variable, "=")
		env.Setenv(name, value)
	}
	env.Defer(func() { removeHome(t, home) })
	return home, nil
}

// homeEnv is what a command needs to find, or to start, the daemon of a home. It
// is the same for all tests.
func homeEnv(home string) []string {
	return []string{"FORKBOX_HOME=" + home, "FORKBOX_IDLE=1m", "FORKBOX_HOST=local", "FORKBOX_TOKEN="}
}

// condition tells root's scripts from those for every user.
func condition(name string) (bool, error) {
	if name == "root" {
		return os.Geteuid() == 0, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// tempHome is short: the path of a socket has a limit.
func tempHome() (string, error) {
	dir, err := os.MkdirTemp("", "fbtest-")
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "h"), nil
}

// mismatches is a file in the home of a test's daemon, of answers that are not
// what the OpenAPI document says.
const mismatches = "mismatches"

// noteMismatch checks what the daemon of a test answers, in the daemon.
func noteMismatch(route *api.Route, status int, body []byte) {
	err := apitest.Check(route, status, body)
	if err == nil {
		return
	}
	f, open := os.OpenFile(filepath.Join(client.DefaultHome(), mismatches), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if open != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, err)
}

// removeHome stops the daemon, if the test started one, and removes what is
// left.
func removeHome(t *testing.T, home string) {
	stopDaemon(t, home)
	if text, err := os.ReadFile(filepath.Join(home, mismatches)); err == nil {
		t.Errorf("the daemon answered otherwise than api/openapi.json says:\n%s", text)
	}
	// A killed daemon's boxes hold directories of overlayfs that only root may enter.
	filepath.WalkDir(home, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(filepath.Dir(home)); err != nil {
		t.Errorf("cannot remove the home of the test: %v", err)
	}
}

func stopDaemon(t *testing.T, home string) {
	text, err := os.ReadFile(filepath.Join(home, "daemon.pid"))
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || syscall.Kill(pid, syscall.SIGTERM) != nil {
		return
	}
	if !comes(func() bool { return isFree(home) }) {
		t.Errorf("daemon %d does not stop", pid)
	}
}

// isFree says whether no daemon has a home.
func isFree(home string) bool {
	lock, err := launch.LockFile(filepath.Join(home, "daemon.lock"))
	if err == nil {
		lock.Close()
	}
	return err == nil
}

// worldPatience is how long something may take that has to happen: it is only
// waited for so long when a test fails.
const worldPatience = 3 * time.Minute

// comes waits until a condition holds, and says whether it came to that. It looks
// again and again: files, processes and the kernel's groups tell nobody that they
// have changed.
func comes(holds func() bool) bool {
	for end := time.Now().Add(worldPatience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
