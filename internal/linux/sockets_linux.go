package linux

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sockets asks the kernel about the sockets of one network namespace: for each
// of them by itself, however many there are. (The tables in /proc/net can only
// be read whole.)
type Sockets struct {
	mu   sync.Mutex
	file *os.File
}

// SocketsHere opens what [OpenSockets] takes, for the network namespace that
// the caller is in.
func SocketsHere() (*os.File, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	return os.NewFile(uintptr(fd), "sockets"), os.NewSyscallError("ask about sockets", err)
}

// OpenSockets takes over a file that another process opened, and makes sure that
// it is what it should be.
func OpenSockets(f *os.File) (*Sockets, error) {
	domain, err := unix.GetsockoptInt(int(f.Fd()), unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err == nil && domain != unix.AF_NETLINK {
		err = errors.New("it is another kind of socket")
	}
	if err != nil {
		f.Close()
		return nil, os.NewSyscallError("ask about sockets", err)
	}
	return &Sockets{file: f}, nil
}

// Close ends the asking.
func (s *Sockets) Close() error { return s.file.Close() }

// inetDiag is struct inet_diag_req_v2, behind the header of its message.
type inetDiag struct {
	unix.NlMsghdr
	family, protocol, ext, _ uint8
	states                   uint32
	sport, dport             [2]byte
	src, dst                 [16]byte
	iface                    uint32
	cookie                   [2]uint32
}

// Offsets in the answer: the header, then struct inet_diag_msg.
const inodeAt = unix.SizeofNlMsghdr + 4 + 48 + 16

const sockDiagByFamily = 20

// Inode is the number of the socket that sends from local to remote. proto is
// "tcp" or "udp".
func (s *Sockets) Inode(proto string, local, remote netip.AddrPort) (uint32, bool) {
	req := inetDiag{family: unix.AF_INET, protocol: unix.IPPROTO_TCP, states: ^uint32(0), cookie: [2]uint32{^uint32(0), ^uint32(0)}}
	req.Len, req.Type, req.Flags = uint32(unsafe.Sizeof(req)), sockDiagByFamily, unix.NLM_F_REQUEST
	if local.Addr().Unmap().Is6() {
		req.family = unix.AF_INET6
	}
	if proto == "udp" {
		req.protocol = unix.IPPROTO_UDP
		local, remote = remote, local // which the kernel has the wrong way round there
	}
	req.sport, req.src = wireAddress(local)
	req.dport, req.dst = wireAddress(remote)
	answer := s.ask((*[unsafe.Sizeof(req)]byte)(unsafe.Pointer(&req))[:])
	if len(answer) < inodeAt+4 || binary.NativeEndian.Uint16(answer[4:]) != sockDiagByFamily {
		return 0, false
	}
	inode := binary.NativeEndian.Uint32(answer[inodeAt:])
	return inode, inode != 0 // 0: no process has it any more
}

// ask returns the kernel's answer, which is there as soon as it was asked.
func (s *Sockets) ask(req []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	fd := int(s.file.Fd())
	if err := unix.Sendto(fd, req, unix.MSG_DONTWAIT, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil
	}
	answer := make([]byte, 1024)
	n, _, err := unix.Recvfrom(fd, answer, unix.MSG_DONTWAIT)
	if err != nil {
		return nil
	}
	return answer[:n]
}

func wireAddress(a netip.AddrPort) (port [2]byte, addr [16]byte) {
	binary.BigEndian.PutUint16(port[:], a.Port())
	copy(addr[:], a.Addr().Unmap().AsSlice())
	return port, addr
}
