package client

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// longestPath is what fits into a unix socket's address, with room to spare.
const longestPath = 100

// ShortSocketPath is a path by which a socket can be bound or reached even
// where its own is longer than the 108 bytes the kernel has for it. It is good
// until release.
func ShortSocketPath(path string) (short string, release func(), err error) {
	if len(path) <= longestPath {
		return path, func() {}, nil
	}
	dir, err := os.OpenFile(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", nil, err
	}
	short = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	return short, func() { dir.Close() }, nil
}

// checkPeer looks at who listens, whatever the path looked like.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil || failed != nil {
		return untrusted("its credentials cannot be read")
	}
	if uid := int(cred.Uid); uid != 0 && uid != os.Geteuid() {
		return untrusted("uid %d listens on it", uid)
	}
	return nil
}
