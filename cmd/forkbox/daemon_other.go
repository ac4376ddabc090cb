//go:build !unix

package main

import (
	"context"
	"errors"
	"os"
	"runtime"
	"syscall"

	"github.com/forkbox/forkbox"
)

func mayWrite(string) error { return nil }

func ownSession() *syscall.SysProcAttr { return nil }

var errLocked = errors.New("another daemon holds the lock")

func lockFile(string) (*os.File, error) {
	return nil, forkbox.Errorf(forkbox.Unsupported, "serve", "there is no daemon for %s yet", runtime.GOOS).
		Hint("forkbox runs on Linux")
}

func lockUnless(_ context.Context, path string, _ func() bool) (*os.File, error) {
	return lockFile(path)
}
