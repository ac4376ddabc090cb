package ingress

import (
	"net"
	"net/netip"
	"strconv"

	"github.com/forkbox/forkbox"
)

const (
	opURL = "open URL"

	// defaultURLs is where URLs are served by default. Always the same port, so
	// that a URL can be kept.
	defaultURLs = 7357
)

// URL opens a port of a box by URL and says which. It can be repeated: dial is
// what counts from then on. The URL leads nowhere once the box is closed.
func (i *Ingress) URL(box forkbox.Box, port int, dial Dial) (string, error) {
	if port < 1 || port > 65535 {
		return "", forkbox.Errorf(forkbox.Invalid, opURL, "there is no port %d", port).
			Hint("ports are 1 to 65535")
	}
	if err := i.begin(opURL); err != nil {
		return "", err
	}
	defer i.mu.Unlock()
	label, err := i.names.of(box, i.labelUsed)
	if err != nil {
		return "", err
	}
	r, err := i.startRouter()
	if err != nil {
		return "", err
	}
	at, in := place{label, port}, i.inlet(box)
	if in.routes[port] == nil && len(in.routes) >= portsPerBox {
		return "", forkbox.Errorf(forkbox.Busy, opURL, "%d ports of box %s are open, which is the most", portsPerBox, box.Name).
			Hint("stop the box to close them: forkbox stop %s", box.Name)
	}
	i.route(r, in, at, dial)
	return "http://" + at.host() + ":" + strconv.Itoa(r.port), nil
}

// route has the router lead to a port of a box.
func (i *Ingress) route(r *router, in *inlet, at place, dial Dial) {
	if had := in.routes[at.port]; had != nil {
		had.dial.Store(&dial)
		return
	}
	made := newRoute(in, at, dial, i.log)
	in.routes[at.port] = made
	r.set(at, made)
}

func (i *Ingress) endRoute(in *inlet, port int, r *route) {
	delete(in.routes, port)
	i.router.unset(r)
	r.end()
}

func (i *Ingress) labelUsed(label string) bool {
	for _, in := range i.boxes {
		for _, r := range in.routes {
			if r.at.label == label {
				return true
			}
		}
	}
	return false
}

// startRouter starts the router when it is first needed.
func (i *Ingress) startRouter() (*router, error) {
	if i.router != nil {
		return i.router, nil
	}
	listeners, port, err := i.listenURLs()
	if err != nil {
		return nil, err
	}
	// Half of all connections at most: a visitor who hogs the router does not
	// hog the published ports.
	r := newRouter(port, &room{most: max(1, i.all.most/2)}, i.log)
	for _, l := range listeners {
		i.running.Go(func() { r.serve(l, &i.running) })
	}
	i.router = r
	return r, nil
}

func (i *Ingress) listenURLs() ([]net.Listener, int, error) {
	if i.urls == "" {
		l, port, err := listen(defaultURLs)
		if taken(err) {
			l, port, err = listenAny()
		}
		return l, port, forkbox.Wrap(opURL, err)
	}
	addr, port, err := parseURLs(i.urls)
	if err != nil {
		return nil, 0, err
	}
	l, port, err := listenURLsAt(addr, port)
	if taken(err) {
		return nil, 0, forkbox.Errorf(forkbox.Exists, opURL, "the address %s is taken", i.urls).
			Hint("configure another one, or none")
	}
	return l, port, forkbox.Wrap(opURL, err)
}

func listenURLsAt(addr netip.Addr, port int) ([]net.Listener, int, error) {
	switch {
	case addr == loopback4 && port == 0:
		return listenAny()
	case addr == loopback4:
		return listen(port)
	}
	l, err := listenAt(addr, port)
	if err != nil {
		return nil, 0, err
	}
	return []net.Listener{l}, l.Addr().(*net.TCPAddr).Port, nil
}

// parseURLs takes a loopback address only: a host that could reach another one
// could reach every box that is open.
func parseURLs(s string) (netip.Addr, int, error) {
	at, err := netip.ParseAddrPort(s)
	if err != nil || !at.Addr().IsLoopback() {
		return netip.Addr{}, 0, forkbox.Errorf(forkbox.Invalid, opURL, "%q is not an address of the loopback with a port", s).
			Hint("configure one such as 127.0.0.1:%d", defaultURLs)
	}
	return at.Addr(), int(at.Port()), nil
}
