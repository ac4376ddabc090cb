package server

import (
	"fmt"
	"net"
	"unsafe"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
)

// peer reads who connected off the socket: the kernel's word, taken when they
// did. Nothing that a client says about itself counts.
func (c *userCache) peer(conn net.Conn) (forkbox.Owner, error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return forkbox.Owner{}, fmt.Errorf("a connection over %s has no credentials", conn.LocalAddr().Network())
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return forkbox.Owner{}, err
	}
	var cred *unix.Ucred
	var groups []int
	var failed error
	err = raw.Control(func(fd uintptr) {
		if cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); failed == nil {
			groups, failed = peerGroups(int(fd))
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return forkbox.Owner{}, fmt.Errorf("reading the peer's credentials: %w", err)
	}
	known := c.lookup(int(cred.Uid))
	return forkbox.Owner{
		UID: int(cred.Uid), GID: int(cred.Gid), Groups: groups,
		Name: known.name, Home: known.home,
	}, nil
}

// peerGroups is SO_PEERGROUPS, for which x/sys has no wrapper. The user
// database would tell which groups the user should have, not which the
// process has.
func peerGroups(fd int) ([]int, error) {
	gids := make([]uint32, 64)
	for {
		size := uint32(len(gids) * 4)
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&gids[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case errno == unix.ERANGE && int(size/4) > len(gids):
			gids = make([]uint32, size/4)
			continue
		case errno != 0:
			return nil, errno
		}
		groups := make([]int, size/4)
		for i := range groups {
			groups[i] = int(gids[i])
		}
		return groups, nil
	}
}
