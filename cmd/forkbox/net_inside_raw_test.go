//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// insideAbstract connects to an abstract unix socket: NAME.
func insideAbstract(args []string) (string, error) {
	c, err := net.Dial("unix", "@"+args[0])
	if err != nil {
		return "", err
	}
	return "connected", c.Close()
}

// insideVsock connects to the hypervisor or a neighbour of it: CID PORT.
func insideVsock(args []string) (string, error) {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return "connected", unix.Connect(fd, &unix.SockaddrVM{CID: uint32(countArg(args, 0, 2)), Port: uint32(countArg(args, 1, 1))})
}

// insideRaw sends a packet of an IP protocol with a socket of that protocol, and
// waits for what comes back: PROTOCOL ADDRESS. For ICMP it is an echo with data
// in it, as a tunnel would send.
func insideRaw(args []string) (string, error) {
	proto := countArg(args, 0, unix.IPPROTO_ICMP)
	to := netip.MustParseAddr(args[1])
	family, kind := unix.AF_INET, unix.SOCK_RAW
	var sockaddr unix.Sockaddr = &unix.SockaddrInet4{Addr: as4(to)}
	if to.Is6() {
		family, sockaddr = unix.AF_INET6, &unix.SockaddrInet6{Addr: to.As16()}
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 3})
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVERR, 1)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1)
	if err := unix.Sendto(fd, echoRequest(to.Is6(), "a secret"), 0, sockaddr); err != nil {
		return "", err
	}
	return answerTo(fd, to)
}

// answerTo is the reply from an address. That it cannot be reached may be said
// in its name; it does not count.
func answerTo(fd int, to netip.Addr) (string, error) {
	for {
		buf := make([]byte, 1500)
		n, from, err := unix.Recvfrom(fd, buf, 0)
		if err != nil {
			return "no answer:", err
		}
		switch f := from.(type) {
		case *unix.SockaddrInet4: // with the head of IP
			if netip.AddrFrom4(f.Addr) == to && n > 20 && buf[20] != 3 {
				return "answered", nil
			}
		case *unix.SockaddrInet6:
			if netip.AddrFrom16(f.Addr) == to && n > 0 && buf[0] != 1 {
				return "answered", nil
			}
		}
	}
}

func as4(a netip.Addr) (b [4]byte) {
	if a.Is4() {
		b = a.As4()
	}
	return b
}

func echoRequest(six bool, data string) []byte {
	p := append([]byte{8, 0, 0, 0, 0, 7, 0, 1}, data...)
	if six {
		p[0] = 128 // its checksum is the kernel's work
		return p
	}
	binary.BigEndian.PutUint16(p[2:], checksum(p))
	return p
}

// checksum is that of IP and its protocols.
func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	if len(b)%2 == 1 {
		sum += uint32(b[len(b)-1]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// insideForged sends a SYN from an address that is not the box's, with a head of
// its own making: SOURCE ADDRESS PORT.
func insideForged(args []string) (string, error) {
	fd, err := headerSocket()
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	from, to := netip.MustParseAddr(args[0]), netip.MustParseAddr(args[1])
	p := syn(from, to, 40000, uint16(countArg(args, 2, 80)))
	return "sent", unix.Sendto(fd, p, 0, &unix.SockaddrInet4{Addr: to.As4()})
}

func headerSocket() (int, error) {
	return unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
}

// syn is a whole packet that begins a connection.
func syn(from, to netip.Addr, fromPort, toPort uint16) []byte {
	p := make([]byte, 40)
	p[0], p[8], p[9] = 0x45, 64, unix.IPPROTO_TCP
	binary.BigEndian.PutUint16(p[2:], 40)
	copy(p[12:], from.AsSlice())
	copy(p[16:], to.AsSlice())
	binary.BigEndian.PutUint16(p[10:], checksum(p[:20]))
	t := p[20:]
	binary.BigEndian.PutUint16(t, fromPort)
	binary.BigEndian.PutUint16(t[2:], toPort)
	binary.BigEndian.PutUint32(t[4:], uint32(fromPort)<<8)
	t[12], t[13] = 5<<4, 2
	binary.BigEndian.PutUint16(t[14:], 64000)
	pseudo := append(append(append([]byte{}, p[12:20]...), 0, unix.IPPROTO_TCP, 0, 20), t...)
	binary.BigEndian.PutUint16(t[16:], checksum(pseudo))
	return p
}

// insideFrame sends a packet below the IP stack, on whatever device the box has:
// ADDRESS PORT.
func insideFrame(args []string) (string, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	devices, err := net.Interfaces()
	sent := 0
	for _, d := range devices {
		p := syn(netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr(args[0]), 40001, uint16(countArg(args, 1, 80)))
		ipv4 := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_IP))
		if unix.Sendto(fd, p, 0, &unix.SockaddrLinklayer{Protocol: ipv4, Ifindex: d.Index, Halen: 6}) == nil {
			sent++
		}
	}
	return fmt.Sprint("sent on ", sent, " of ", len(devices)), err
}

// insideDevices are those that the box has, and whether it could make another
// one that the gate does not look at.
func insideDevices([]string) (string, error) {
	devices, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	said := ""
	for _, d := range devices {
		said += d.Name + " "
	}
	_, tun := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	return fmt.Sprint(said, "tun: ", tun), nil
}
