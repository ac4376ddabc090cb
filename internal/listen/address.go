// Package listen is how the daemon is reached from elsewhere than its unix
// socket: addresses, certificates, which names it answers to, and how many may
// be connected at once.
package listen

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// Address is one to listen at.
type Address struct {
	// Host is an address, or empty for all of this machine's.
	Host  string
	Port  int  // 0: any that is free
	Plain bool // HTTP without TLS
}

// ParseAddress reads ADDRESS:PORT, with http:// or https:// before it or not.
// Without TLS only loopback addresses are taken: tokens would cross the network
// for anyone to read.
func ParseAddress(text string) (Address, error) {
	op := "listen on " + text
	rest, plain := strings.CutPrefix(text, "http://")
	if !plain {
		rest = strings.TrimPrefix(text, "https://")
	}
	host, port, err := net.SplitHostPort(strings.TrimSuffix(rest, "/"))
	number, bad := strconv.ParseUint(port, 10, 16)
	if err != nil || bad != nil {
		return Address{}, forkbox.Errorf(forkbox.Invalid, op, "it is not ADDRESS:PORT").
			Hint("for example 127.0.0.1:7171, https://0.0.0.0:7171, https://[::1]:7171 or http://127.0.0.1:7171")
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	addr, err := netip.ParseAddr(host)
	if host != "" && (err != nil || addr.Zone() != "") {
		return Address{}, forkbox.Errorf(forkbox.Invalid, op, "%q is not an address of this machine", host).
			Hint("name an address, not a name; names it is called by go to serve.hosts in config.yaml")
	}
	if plain && !addr.IsLoopback() {
		return Address{}, forkbox.Errorf(forkbox.Invalid, op, "without TLS whoever is on the way reads the tokens: plain HTTP is for loopback only").
			Hint("use https://%s: the daemon makes a certificate, and says its fingerprint", net.JoinHostPort(host, port))
	}
	return Address{Host: host, Port: int(number), Plain: plain}, nil
}

func (a Address) scheme() string {
	if a.Plain {
		return "http"
	}
	return "https"
}

// network has 0.0.0.0 mean what it says: Go would listen on all addresses of IPv6 as
// well.
func (a Address) network() string {
	if addr, err := netip.ParseAddr(a.Host); err == nil && addr.Is4() {
		return "tcp4"
	}
	return "tcp"
}

// Listener is one that listens.
type Listener struct {
	net.Listener
	// URL is where clients find it, as far as that is known: of a listener on all
	// addresses it has the machine's loopback.
	URL   string
	Plain bool
}

// Open listens. Several listeners share the number of connections.
func (a Address) Open(limit *Limit) (*Listener, error) {
	l, err := net.Listen(a.network(), net.JoinHostPort(a.Host, strconv.Itoa(a.Port)))
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Unavailable, "listen on "+net.JoinHostPort(a.Host, strconv.Itoa(a.Port)), "%w", err).
			Hint("another program may have the port; choose another with --listen")
	}
	at := l.Addr().(*net.TCPAddr).AddrPort()
	shown := at.Addr().Unmap()
	switch {
	case shown.IsUnspecified() && shown.Is6() && a.Host != "":
		shown = netip.IPv6Loopback()
	case shown.IsUnspecified():
		shown = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	url := a.scheme() + "://" + netip.AddrPortFrom(shown, at.Port()).String()
	return &Listener{Listener: limit.around(l), URL: url, Plain: a.Plain}, nil
}
