//go:build unix && !linux

package stdio

import "golang.org/x/sys/unix"

func stopThread() { unix.Kill(unix.Getpid(), unix.SIGSTOP) }
