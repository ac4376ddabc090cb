package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// stallingDaemon sends the beginning of an archive, and then nothing. begun is
// closed when a client has asked.
func stallingDaemon(t *testing.T) (socket string, begun chan struct{}) {
	t.Helper()
	dir, err := os.MkdirTemp("", "fb") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket, begun = filepath.Join(dir, "s"), make(chan struct{})
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, 100_000))
		w.(http.Flusher).Flush()
		close(begun)
		<-r.Context().Done()
	})}
	go web.Serve(l)
	t.Cleanup(func() { web.Close() })
	return socket, begun
}

// TestStoppedExportLeavesNothing: neither the file nor what was to become it,
// whatever the signal.
func TestStoppedExportLeavesNothing(t *testing.T) {
	list := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	// Where they are ignored, as in a background job, the child would too.
	caught := make(chan os.Signal, 1)
	defer signal.Stop(caught)
	for _, sig := range list {
		signal.Notify(caught, sig)
		socket, begun := stallingDaemon(t)
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		cmd := exec.CommandContext(ctx, "/proc/self/exe", "export", "-o", filepath.Join(dir, "out.tar"), "try")
		cmd.Args[0] = "forkbox"
		cmd.Env = append(os.Environ(), "FORKBOX_SOCKET="+socket)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-begun
		if entries, _ := os.ReadDir(dir); len(entries) != 1 {
			t.Errorf("while it goes on there are %v", entries)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 128+int(sig) {
			t.Errorf("%v: exit code %d", sig, code)
		}
		expectFiles(t, dir)
	}
}

func expectFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("there are %v, want %v", got, want)
	}
}
