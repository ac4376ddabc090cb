package ingress

import (
	"io"
	"net"
)

// relay passes bytes both ways until both sides have said all they have to say.
// One that closes its sending side still gets what the other one sends: this is
// how many clients say that their request is complete.
func relay(a, b net.Conn) {
	back := make(chan struct{})
	go func() {
		defer close(back)
		pass(a, b)
	}()
	pass(b, a)
	<-back
}

// pass copies what one side sends to the other, and its end. If either breaks,
// both are cut, which ends the other direction too.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from) // on Linux the bytes stay in the kernel
	if err == nil {
		err = closeWrite(to)
	}
	if err != nil {
		cut(to)
		cut(from)
	}
}

// closeWrite tells the other end that no more comes. Where a connection cannot
// do that by halves it is closed: its peer would wait for ever otherwise.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
