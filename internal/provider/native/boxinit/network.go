//go:build linux

package boxinit

import (
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/wire"
)

// gateway is the box's end of its gate.
var gateway = linux.Interface{
	Name: "fb0", MTU: 65520,
	IP4: netip.MustParsePrefix("198.18.0.2/16"),
	IP6: netip.MustParsePrefix("fd66:6f72:6b00::2/64"),
}

// makeDevice is init's part. It keeps the device as long as the box lives, so
// that it outlives the daemon that reads from it.
func (p *pid1) makeDevice() error {
	file := os.NewFile(uintptr(p.config.TUN), linux.TUNPath)
	defer file.Close()
	var err error
	p.device, err = linux.NewTUN("/proc/self/fd/"+strconv.Itoa(p.config.TUN), gateway)
	return err
}

// dialLimit is how long a connection within the box may take.
const dialLimit = 5 * time.Second

// dial is init's part.
func (p *pid1) dial(port int, files []*os.File) error {
	defer wire.CloseAll(files...)
	if len(files) != 1 {
		return forkbox.Errorf(forkbox.Invalid, "connect to the box", "there is no one to relay to")
	}
	daemon, err := net.FileConn(files[0])
	if err != nil {
		return err
	}
	box, err := p.reach(port)
	if err != nil {
		daemon.Close()
		return err
	}
	go bridge(daemon, box)
	return nil
}

// bridge carries both ways until both have said all.
func bridge(a, b net.Conn) {
	defer a.Close()
	defer b.Close()
	back := make(chan struct{})
	go func() { carry(a, b); close(back) }()
	carry(b, a)
	<-back
}

func carry(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		to.Close() // the other end broke off, and so does this one
		return
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// reach tries the box's addresses: servers listen on the loopback of one or the
// other family, or only on the box's address.
func (p *pid1) reach(port int) (net.Conn, error) {
	var first error
	for _, host := range p.ownAddresses() {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, strconv.Itoa(port)), dialLimit)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = forkbox.Errorf(forkbox.Unavailable, "connect to port "+strconv.Itoa(port)+" of the box", "%w", err).
				Hint("wait until something listens there: forkbox wait BOX --port %d", port)
		}
	}
	return nil, first
}

func (p *pid1) ownAddresses() []string {
	list := []string{"127.0.0.1", "::1"}
	if p.config.Net == forkbox.NetPolicy {
		list = append(list, gateway.IP4.Addr().String())
	}
	return list
}
