package gate

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// writev writes one packet that lies in parts.
func writev(fd int, parts [][]byte) error {
	for {
		_, err := unix.Writev(fd, parts)
		if err != unix.EINTR {
			return err
		}
	}
}

func readFD(fd int, buf []byte) (int, error) {
	for {
		n, err := unix.Read(fd, buf)
		if err != unix.EINTR {
			return n, err
		}
	}
}

// readable says whether a read would not wait, be it for a packet or an error.
func readable(fd uintptr) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return n > 0 || err != nil && err != unix.EINTR
}

// shutdown ends a socket that may still be connecting: the goroutine that waits
// for it wakes up.
func shutdown(raw syscall.RawConn) {
	raw.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_RDWR) })
}

// beginConnect starts connecting a socket that does not block. What comes of it
// the next call of connect says.
func beginConnect(fd uintptr, to netip.AddrPort) {
	if to.Addr().Is4() {
		unix.Connect(int(fd), &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())})
		return
	}
	if to.Addr().Zone() == "" {
		unix.Connect(int(fd), &unix.SockaddrInet6{Addr: to.Addr().As16(), Port: int(to.Port())})
	}
}
