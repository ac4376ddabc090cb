package linux

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A socket's address has room for 107 bytes of path. These reach a socket in
// any directory through a descriptor of the directory.

// ListenUnix binds and listens; the caller passes the file on.
func ListenUnix(path string) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	err = near(path, func(short string) error {
		return unix.Bind(fd, &unix.SockaddrUnix{Name: short})
	})
	if err == nil {
		err = unix.Listen(fd, 16)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// DialUnix connects.
func DialUnix(path string) (conn *net.UnixConn, err error) {
	err = near(path, func(short string) error {
		conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: short, Net: "unix"})
		return err
	})
	return conn, err
}

func near(path string, do func(short string) error) error {
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", dir, filepath.Base(path)))
}

// PeerPID is the process that called listen on the socket that conn is
// connected to.
func PeerPID(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := raw.Control(func(fd uintptr) {
		cred, e := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err = e; e == nil {
			pid = int(cred.Pid)
		}
	})
	if err == nil {
		err = cerr
	}
	return pid, err
}
