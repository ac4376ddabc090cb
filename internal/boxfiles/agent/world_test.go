//go:build linux

package agent

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/forkbox/forkbox/internal/boxfiles"
)

// dial is a connection to an agent that runs in this process.
func (a *agent) dial(t testing.TB) net.Conn {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	go a.answer(os.NewFile(uintptr(fds[1]), "theirs"))
	ours := os.NewFile(uintptr(fds[0]), "ours")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// world is a directory with an agent for it.
type world struct {
	testing.TB
	agent
	dir string
	ctx context.Context
}

func newWorld(t testing.TB) *world {
	return &world{TB: t, dir: t.TempDir(), ctx: t.Context()}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) request(op boxfiles.Op, name string) boxfiles.Request {
	return boxfiles.Request{Op: op, Path: []byte(w.path(name))}
}

func (w *world) write(name, content string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.Helper()
	text, err := os.ReadFile(w.path(name))
	if err != nil {
		w.Error(err)
	}
	return string(text)
}

// leftovers are names that a draft could have.
func (w *world) leftovers() (list []string) {
	_ = filepath.WalkDir(w.dir, func(path string, _ os.DirEntry, _ error) error {
		if ok, _ := filepath.Match(".forkbox-*", filepath.Base(path)); ok {
			list = append(list, path)
		}
		return nil
	})
	return list
}
