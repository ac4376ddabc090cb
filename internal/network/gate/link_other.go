//go:build unix && !linux

package gate

import (
	"bytes"
	"net/netip"
	"syscall"
)

func writev(fd int, parts [][]byte) error {
	_, err := syscall.Write(fd, bytes.Join(parts, nil))
	return err
}

func readFD(fd int, buf []byte) (int, error) { return syscall.Read(fd, buf) }

func readable(uintptr) bool { return true }

func shutdown(raw syscall.RawConn) {
	raw.Control(func(fd uintptr) { syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
}

func beginConnect(uintptr, netip.AddrPort) {}
