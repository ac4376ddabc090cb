//go:build unix

package client

import (
	"os"

	"golang.org/x/sys/unix"
)

// canHandOver says whether this system's sockets carry files.
const canHandOver = true

// duplicate is a file of its own that reads and writes the same.
func duplicate(f *os.File) (*os.File, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	own, failed := -1, error(nil)
	err = conn.Control(func(fd uintptr) { own, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return os.NewFile(uintptr(own), f.Name()), nil
}
