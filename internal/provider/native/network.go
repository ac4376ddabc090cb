//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
	"github.com/forkbox/forkbox/internal/wire"
)

var _ forkbox.Networked = (*instance)(nil)

// nameserver is the gate's, as the box reaches it.
const nameserver = "198.18.0.1"

// CanGate says why boxes on this host cannot have a gate, if so.
func (p *Provider) CanGate() error { return canGate() }

func canGate() error {
	const op = "give the box a network"
	fd, err := unix.Open(linux.TUNPath, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
		return nil
	}
	e := forkbox.Errorf(forkbox.Unsupported, op, "%s cannot be opened: %w", linux.TUNPath, err)
	switch {
	case errors.Is(err, unix.EACCES):
		e.Hint("sudo chmod 0666 %s (most distributions have it so), or run the daemon as root: sudo forkbox serve", linux.TUNPath)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		e.Hint("sudo modprobe tun; in a container: start it with --device %s", linux.TUNPath)
	}
	return e.Hint("or do without: --net none")
}

// NetSupport fails closed: what network a box is to have is what it gets.
func (p *Provider) NetSupport(n forkbox.Net) error { return netSupport(n) }

func netSupport(n forkbox.Net) error {
	switch n {
	case forkbox.NetNone, forkbox.NetHost:
		return nil
	case forkbox.NetPolicy:
		return canGate()
	}
	return forkbox.Errorf(forkbox.Unsupported, "start the box", "there is no network %q", n).
		Hint("it is none, policy or host")
}

// gated says whether the box's network ends at a gate.
func (p *plan) gated() bool { return p.box.Net == forkbox.NetPolicy }

// holdTUN keeps the host's device file within reach of init, which makes a
// device of it in the box's own network namespace. It opens nothing yet. Root in
// the box can reach what init holds: the mount that it is found through is
// read-only, so that its mode and owner stay what they are.
func (p *plan) holdTUN(s *linux.Script) {
	if p.gated() {
		s.HoldReadOnly(linux.TUNPath, p.highFD(3))
	}
}

// Device asks init for the box's TUN device. Root in the box may answer for
// init: whatever device that is, it is of the box's own network namespace.
func (i *instance) Device(ctx context.Context) (*os.File, error) {
	i.mu.Lock()
	device := i.device
	i.device = nil
	i.mu.Unlock()
	if device != nil {
		return device, nil
	}
	return i.fetchDevice(ctx)
}

func (i *instance) fetchDevice(ctx context.Context) (*os.File, error) {
	file, err := i.fetch(ctx, boxinit.Request{Verb: boxinit.DoDevice})
	if err != nil {
		return nil, err
	}
	device, err := linux.OpenTUN(file)
	return device, forkbox.Wrap("open the box's network", err)
}

// readyDevice has the device of a spare at hand for when it is taken.
func (i *instance) readyDevice(ctx context.Context) error {
	device, err := i.fetchDevice(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.device = device
	return err
}

// fetch calls init for one open file.
func (i *instance) fetch(ctx context.Context, req boxinit.Request) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	req.Fetches = true
	rep, err := i.call(ctx, req)
	if err == nil && len(rep.Files) != 1 {
		err = gone(req.Verb, fmt.Errorf("init sent %d files", len(rep.Files)))
	}
	if err != nil {
		wire.CloseAll(rep.Files...)
		return nil, err
	}
	return rep.Files[0], nil
}

// Dial has init connect to a port of the box's own loopback, so that it reaches
// what listens there only, and relay what is said. Init does not send the
// connection itself: root in the box could get hold of it, and would share its
// settings with the daemon, such as whether a read waits for ever.
func (i *instance) Dial(ctx context.Context, port int) (net.Conn, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, forkbox.Wrap("connect to the box", err)
	}
	defer theirs.Close()
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	if _, err := i.call(ctx, boxinit.Request{Verb: boxinit.DoDial, Port: port}, theirs); err != nil {
		ours.Close()
		return nil, err
	}
	return ours, nil
}

func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
	}
	return conn, theirs, err
}

const resolvFile = "/etc/resolv.conf"

// ownFiles are those that a box has instead of reality's: with its name in them,
// and for its gate. They are what [concealment.lay] writes.
func (sc *scenery) ownFiles(box forkbox.Box) []string {
	paths := []string{"/etc/hostname", "/etc/hosts"}
	if box.Net == forkbox.NetPolicy {
		paths = append(paths, resolvFile)
	}
	return slices.AppendSeq(paths, maps.Keys(sc.trusted(box.Network.CA)))
}

// trusted is the files that make programs trust the gate, those of the last
// certificate remembered.
func (sc *scenery) trusted(ca string) map[string][]byte {
	if ca == "" || sc.trust == nil {
		return nil
	}
	sc.veils.mu.Lock()
	defer sc.veils.mu.Unlock()
	if sc.veils.ca != ca {
		sc.veils.ca, sc.veils.trust = ca, sc.trust(ca)
	}
	return sc.veils.trust
}

// resolvConf has names resolved by the gate, with the host's own search list
// and options.
func resolvConf(host []byte) []byte {
	conf := []string{"nameserver " + nameserver}
	for line := range strings.Lines(string(host)) {
		f := strings.Fields(line)
		if len(f) > 1 && (f[0] == "search" || f[0] == "domain" || f[0] == "options") {
			conf = append(conf, strings.Join(f, " "))
		}
	}
	return []byte(strings.Join(conf, "\n") + "\n")
}
