//go:build linux

package boxinit

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// host is where the gate has the host's ports.
var host = netip.MustParseAddr("198.18.0.1")

// letIn has ports of the box's loopback lead to the same ports of the host, through
// the gate, which decides and keeps the record. Nothing else runs in the box yet, so
// that the ports are free.
func (p *pid1) letIn() error {
	for _, port := range p.config.LetIn {
		for _, own := range []string{"127.0.0.1", "::1"} {
			l, err := net.Listen("tcp", net.JoinHostPort(own, strconv.Itoa(port)))
			if own == "::1" && (errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)) {
				continue // a host without IPv6
			}
			if err != nil {
				return fmt.Errorf("let port %d of the host in: %w", port, err)
			}
			go p.welcome(l, port)
		}
	}
	return nil
}

// guests is how many connections to one port there are at a time: whoever comes
// then waits. Init needs files for other things as well.
const guests = 128

// welcome relays whoever connects, as long as the box runs.
func (p *pid1) welcome(l net.Listener, port int) {
	places := make(chan struct{}, guests)
	for {
		places <- struct{}{}
		inside, err := l.Accept()
		if err != nil { // no more files, for now
			<-places
			time.Sleep(dialLimit / 50)
			continue
		}
		go func() {
			defer func() { <-places }()
			outside, err := net.DialTimeout("tcp", net.JoinHostPort(host.String(), strconv.Itoa(port)), dialLimit)
			if err != nil {
				inside.Close()
				return
			}
			bridge(inside, outside)
		}()
	}
}
