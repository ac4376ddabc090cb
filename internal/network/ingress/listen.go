package ingress

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"

	"github.com/forkbox/forkbox"
)

var (
	loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	loopback6 = netip.IPv6Loopback()
)

func checkPort(box forkbox.Box, p forkbox.Port) error {
	if p.Box < 1 || p.Box > 65535 || p.Host < 0 || p.Host > 65535 {
		bad := p.Box
		if p.Box >= 1 && p.Box <= 65535 {
			bad = p.Host
		}
		return forkbox.Errorf(forkbox.Invalid, opPublish, "there is no port %d", bad).
			Hint("ports are 1 to 65535")
	}
	if p.Host > 0 && !mayHave(box, p.Host) {
		return forkbox.Errorf(forkbox.Denied, opPublish, "port %d of the host is for root only", p.Host).
			Hint("use one from %d on: forkbox port %s %d:%d", privileged, box.Name, p.Box, p.Host+8000)
	}
	return nil
}

// mayHave: a daemon of root's could listen on port 80 for any user, so it has
// to ask what the kernel would have asked the owner.
func mayHave(box forkbox.Box, host int) bool {
	return host >= privileged || box.Owner.UID == 0
}

// listenFor listens on the port of the host that p asks for.
func listenFor(box forkbox.Box, p forkbox.Port) ([]net.Listener, int, error) {
	if p.Host > 0 {
		return listen(p.Host)
	}
	if mayHave(box, p.Box) {
		if l, host, err := listen(p.Box); err == nil {
			return l, host, nil
		}
	}
	return listenAny()
}

// listen listens on a port of both loopback addresses. A host without IPv6 has
// only the first. One where a different program has the second is a host where
// the port is taken: "localhost" would lead there as often as here.
func listen(port int) ([]net.Listener, int, error) {
	four, err := listenAt(loopback4, port)
	if err != nil {
		return nil, 0, err
	}
	port = four.Addr().(*net.TCPAddr).Port
	six, err := listenAt(loopback6, port)
	switch {
	case err == nil:
		return []net.Listener{four, six}, port, nil
	case noIPv6(err):
		return []net.Listener{four}, port, nil
	}
	_ = four.Close()
	return nil, 0, err
}

// listenAny listens on a port that is free at both addresses. The kernel picks
// one that is free at the first.
func listenAny() (l []net.Listener, port int, err error) {
	for range 20 {
		if l, port, err = listen(0); !taken(err) {
			break
		}
	}
	return l, port, err
}

func listenAt(addr netip.Addr, port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort(addr.String(), strconv.Itoa(port)))
}

func taken(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

func noIPv6(err error) bool {
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)
}

// cannotListen says why a port could not be had, and what else could.
func (i *Ingress) cannotListen(box forkbox.Box, p forkbox.Port, err error) error {
	switch {
	case taken(err):
		return forkbox.Errorf(forkbox.Exists, opPublish, "port %d of the host is taken%s", p.Host, i.byWhom(box, p.Host)).
			Hint("choose another one: forkbox port %s %d:PORT", box.Name, p.Box).
			Hint("or take one that is free: forkbox port %s %d", box.Name, p.Box)
	case errors.Is(err, syscall.EACCES):
		return forkbox.Errorf(forkbox.Denied, opPublish, "this daemon may not have port %d of the host", p.Host).
			Hint("use one from %d on: forkbox port %s %d:PORT", privileged, box.Name, p.Box)
	}
	return forkbox.Errorf(forkbox.Internal, opPublish, "%w", err)
}

// byWhom names the box that has a port, if it is of the same owner: what others
// run is not told.
func (i *Ingress) byWhom(box forkbox.Box, host int) string {
	if had := i.hosts[host]; had != nil && had.box.Owner.UID == box.Owner.UID {
		return " by box " + had.box.Name
	}
	return ""
}
