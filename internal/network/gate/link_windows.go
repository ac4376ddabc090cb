package gate

import (
	"errors"
	"net/netip"
	"syscall"
)

// There are no boxes on Windows; the package only has to compile there.
var errNoDevice = errors.New("there are no TUN devices here")

func writev(int, [][]byte) error { return errNoDevice }

func readFD(int, []byte) (int, error) { return 0, errNoDevice }

func readable(uintptr) bool { return true }

func shutdown(syscall.RawConn) {}

func beginConnect(uintptr, netip.AddrPort) {}
