package contained

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// dialLimit is how long what leads to a port waits for the port.
const dialLimit = 10 * time.Second

// forward has a port of the box lead to one of the container, which is in the
// box's network as well.
func forward(f Forward) error {
	l, err := net.Listen("tcp", ":"+strconv.Itoa(f.From))
	if err != nil {
		return fmt.Errorf("have port %d lead to the container: %w", f.From, err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go relay(conn, f.To)
		}
	}()
	return nil
}

// relay carries both ways. Where a side says no more, the other is told.
func relay(from net.Conn, port int) {
	defer from.Close()
	to, err := net.DialTimeout("tcp", net.JoinHostPort("localhost", strconv.Itoa(port)), dialLimit)
	if err != nil {
		return
	}
	defer to.Close()
	var both sync.WaitGroup
	carry := func(to, from net.Conn) {
		defer both.Done()
		_, _ = io.Copy(to, from)
		_ = to.(*net.TCPConn).CloseWrite()
	}
	both.Add(2)
	go carry(to, from)
	go carry(from, to)
	both.Wait()
}
