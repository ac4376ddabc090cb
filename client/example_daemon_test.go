//go:build linux

package client_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/forkbox/forkbox/client"
)

// TestMain gives the examples a daemon to talk to, at the default socket of a
// home of its own.
func TestMain(m *testing.M) {
	code, err := withDaemon(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot run the examples:", err)
		code = 1
	}
	os.Exit(code)
}

func withDaemon(run func() int) (int, error) {
	dir, err := os.MkdirTemp("", "fbtest-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "forkbox")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "../cmd/forkbox").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, out)
	}
	os.Setenv("FORKBOX_HOME", filepath.Join(dir, "h"))
	os.Setenv("FORKBOX_SOCKET", "")
	daemon := exec.Command(binary, "serve", "--idle", "5m")
	daemon.Env = append(os.Environ(), "FORKBOX_LOG=warn")
	daemon.Stderr = os.Stderr
	if err := daemon.Start(); err != nil {
		return 0, err
	}
	defer daemon.Wait()
	defer daemon.Process.Signal(syscall.SIGTERM)
	if err := awaitDaemon(); err != nil {
		return 0, err
	}
	return run(), nil
}

func awaitDaemon() error {
	c := client.New(client.DefaultSocket())
	defer c.Close()
	late := time.After(time.Minute)
	for {
		err := c.Ping(context.Background())
		if err == nil {
			return nil
		}
		select {
		case <-late:
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}
