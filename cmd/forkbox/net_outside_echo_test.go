//go:build linux

package main

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

// The ports on which what comes is sent back. 443 of UDP is where a browser
// would speak QUIC.
const (
	echoPort = "7"
	sinkPort = "4444" // where a reverse shell would call home to
)

func (o *outside) serveEcho() error {
	echo := func(c net.Conn) {
		defer c.Close()
		_, _ = io.Copy(c, c)
	}
	return errors.Join(
		eachConn(echoPort, echo),
		eachConn(sinkPort, func(c net.Conn) { // it tells a caller what to do
			_, _ = io.WriteString(c, "id\n")
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}),
		echoPackets("udp4", echoPort), echoPackets("udp4", "443"), echoPackets("udp4", "123"),
		echoPackets("udp6", echoPort), echoPackets("udp6", "443"))
}

// echoPackets sends every packet back, from the address that it was sent to:
// the world has a whole net of them, and the kernel would choose another.
func echoPackets(network, port string) error {
	free := func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_IPV6, unix.IPV6_FREEBIND, 1)
		})
	}
	c, err := (&net.ListenConfig{Control: free}).ListenPacket(context.Background(), network, ":"+port)
	if err != nil {
		return err
	}
	go func() {
		if network == "udp4" {
			echo4(c)
		} else {
			echo6(c)
		}
	}()
	return nil
}

func echo4(c net.PacketConn) {
	p := ipv4.NewPacketConn(c)
	_ = p.SetControlMessage(ipv4.FlagDst, true)
	buf := make([]byte, 64<<10)
	for {
		n, cm, from, err := p.ReadFrom(buf)
		if err != nil {
			return
		}
		_, _ = p.WriteTo(buf[:n], &ipv4.ControlMessage{Src: cm.Dst}, from)
	}
}

func echo6(c net.PacketConn) {
	p := ipv6.NewPacketConn(c)
	_ = p.SetControlMessage(ipv6.FlagDst, true)
	buf := make([]byte, 64<<10)
	for {
		n, cm, from, err := p.ReadFrom(buf)
		if err != nil {
			return
		}
		_, _ = p.WriteTo(buf[:n], &ipv6.ControlMessage{Src: cm.Dst}, from)
	}
}
