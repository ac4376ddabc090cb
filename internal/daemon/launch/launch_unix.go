//go:build unix

package launch

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// OwnSession takes a daemon out of the caller's session, so that closing the
// terminal or ctrl-C does not end it.
func OwnSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

var ErrLocked = errors.New("another daemon holds the lock")

// LockFile is held as long as the file is open, and by one process: the kernel
// lets go of it however the daemon ends.
func LockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	var locked error
	if err := raw.Control(func(fd uintptr) { locked = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) }); err != nil {
		locked = err
	}
	if locked != nil {
		f.Close()
		if errors.Is(locked, unix.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, locked
	}
	return f, nil
}

// LockUnless waits for the lock until a daemon listens after all: one that is
// about to end for being idle holds the lock a little longer than its socket.
func LockUnless(ctx context.Context, path string, listening func() bool) (*os.File, error) {
	late := time.After(daemonPatience)
	for {
		f, err := LockFile(path)
		if !errors.Is(err, ErrLocked) || listening() {
			return f, err
		}
		select {
		case <-late:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
