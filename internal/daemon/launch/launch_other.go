//go:build !unix

package launch

import (
	"context"
	"errors"
	"os"
	"runtime"
	"syscall"

	"github.com/forkbox/forkbox"
)

func mayWrite(string) error { return nil }

func OwnSession() *syscall.SysProcAttr { return nil }

var ErrLocked = errors.New("another daemon holds the lock")

func LockFile(string) (*os.File, error) {
	return nil, forkbox.Errorf(forkbox.Unsupported, "serve", "there is no daemon for %s yet", runtime.GOOS).
		Hint("forkbox runs on Linux")
}

func LockUnless(_ context.Context, path string, _ func() bool) (*os.File, error) {
	return LockFile(path)
}
