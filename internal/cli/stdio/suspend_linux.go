package stdio

import "golang.org/x/sys/unix"

func stopThread() { unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGSTOP) }
