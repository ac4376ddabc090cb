package gate

import (
	"io"
	"net"
	"syscall"
)

// eachReady calls f with what comes from a connection, until it ends: nil is a
// proper end. Where the connection is a socket, a buffer is held only while
// there is something to read.
func (g *Gate) eachReady(conn net.Conn, f func(data []byte) error) error {
	raw := rawOf(conn)
	for {
		err := g.nextReady(conn, raw, f)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func rawOf(conn net.Conn) syscall.RawConn {
	if socket, ok := conn.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

func (g *Gate) nextReady(conn net.Conn, raw syscall.RawConn, f func(data []byte) error) error {
	if box, ok := conn.(*boxConn); ok { // a teammate's
		if err := box.eachRead(g, f); err != nil {
			return err
		}
		return io.EOF
	}
	buf, n, err := readReady(conn, raw, g)
	if buf == nil {
		return err
	}
	defer g.giveBuffer(buf)
	if n == 0 && err == nil {
		return io.EOF
	}
	if n > 0 {
		if failure := f((*buf)[:n]); failure != nil {
			return failure
		}
	}
	return err
}

// readReady reads once, into a buffer that the caller gives back if there is one.
func readReady(conn net.Conn, raw syscall.RawConn, from lender) (buf *[]byte, n int, err error) {
	if raw == nil {
		buf = from.takeBuffer()
		n, err = conn.Read(*buf)
		return buf, n, err
	}
	var failure error
	err = raw.Read(func(fd uintptr) bool {
		buf = from.takeBuffer()
		n, failure = readFD(int(fd), *buf)
		if failure != syscall.EAGAIN {
			return true
		}
		from.giveBuffer(buf)
		buf = nil
		return false
	})
	if err == nil {
		err = failure
	}
	return buf, max(n, 0), err
}
