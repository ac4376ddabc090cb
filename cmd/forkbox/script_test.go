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

	"github.com/forkbox/forkbox/internal/daemon/launch"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the forkbox that the scripts run, and the
// init of their boxes.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == initName {
		os.Exit(run(os.Args...))
	}
	// What a shell starts in the background ignores ctrl-C, and so would all
	// that is started here; what is handled is not ignored by children.
	if strings.HasSuffix(os.Args[0], ".test") && signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	testscript.Main(m, map[string]func(){
		"forkbox": func() { os.Exit(run(os.Args...)) },
	})
}

// TestScripts runs testdata/*.txtar against the real binary, each with a home
// and so a daemon of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			home, err := tempHome()
			if err != nil {
				return err
			}
			env.Setenv("FORKBOX_HOME", home)
			env.Setenv("FORKBOX_IDLE", "1m")
			env.Setenv("SHELL", "/bin/sh")
			env.Setenv("USER", os.Getenv("USER"))
			env.Defer(func() { removeHome(t, home) })
			return nil
		},
	})
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

// removeHome stops the daemon, if the test started one, and removes what is
// left.
func removeHome(t *testing.T, home string) {
	stopDaemon(t, home)
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
	for range 1000 {
		if lock, err := launch.LockFile(filepath.Join(home, "daemon.lock")); err == nil {
			lock.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("daemon %d does not stop", pid)
}
