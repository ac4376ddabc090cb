package ingress

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/forkbox/forkbox"
)

const (
	opPublish = "publish port"

	// privileged ports are those that only root may have.
	privileged = 1024

	// portsPerBox bounds the sockets that a box costs while they are not used.
	portsPerBox = 64
)

// published is a port of the host's loopback that leads to one of a box.
type published struct {
	*door
	host      int
	box       forkbox.Box
	listeners []net.Listener
}

// Publish has a port of the host's loopback lead to a port of a box, and says
// which. If p.Host is 0 it is the same number as the box's if that is free, else
// any. What is published already stays as it is; dial is what counts from then
// on. A box port that nothing listens on looks like one on the host: refused.
func (i *Ingress) Publish(box forkbox.Box, p forkbox.Port, dial Dial) (forkbox.Port, error) {
	if err := checkPort(box, p); err != nil {
		return forkbox.Port{}, err
	}
	if err := i.begin(opPublish); err != nil {
		return forkbox.Port{}, err
	}
	defer i.mu.Unlock()
	in := i.inlet(box)
	defer i.tidy(in)
	if same := in.same(p); same != nil {
		same.dial.Store(&dial)
		return forkbox.Port{Box: p.Box, Host: same.host}, nil
	}
	if len(in.ports) >= portsPerBox {
		return forkbox.Port{}, forkbox.Errorf(forkbox.Busy, opPublish, "%d ports of box %s are published, which is the most", portsPerBox, box.Name).
			Hint("open them by URL instead: forkbox open %s %d", box.Name, p.Box)
	}
	if err := i.afford(box); err != nil {
		return forkbox.Port{}, err
	}
	return i.publish(in, box, p, dial)
}

// afford keeps the listeners of one user, and of all, from taking the files that
// the rest of the daemon needs.
func (i *Ingress) afford(box forkbox.Box) error {
	most, theirs := int(i.all.most), 0
	for _, p := range i.hosts {
		if p.box.Owner.UID == box.Owner.UID {
			theirs++
		}
	}
	if len(i.hosts) < most && theirs < max(1, most/2) {
		return nil
	}
	return forkbox.Errorf(forkbox.Busy, opPublish, "%d ports of boxes are published, %d of them yours, which is the most", len(i.hosts), theirs).
		Hint("take some back: forkbox port BOX --rm PORT")
}

func (i *Ingress) publish(in *inlet, box forkbox.Box, p forkbox.Port, dial Dial) (forkbox.Port, error) {
	listeners, host, err := listenFor(box, p)
	if err != nil {
		return forkbox.Port{}, i.cannotListen(box, p, err)
	}
	made := &published{door: newDoor(p.Box, in.room, dial), host: host, box: box, listeners: listeners}
	in.ports[host], i.hosts[host] = made, made
	for _, l := range listeners {
		i.running.Go(func() { i.accept(made, l) })
	}
	return forkbox.Port{Box: p.Box, Host: host}, nil
}

// same is what is published already that is as good as p.
func (in *inlet) same(p forkbox.Port) *published {
	for _, had := range in.ports {
		if had.port == p.Box && (p.Host == 0 || p.Host == had.host) {
			return had
		}
	}
	return nil
}

// Unpublish takes back what Publish did, and cuts the connections. If p.Host is
// 0 that is every port of the host that leads to p.Box.
func (i *Ingress) Unpublish(box string, p forkbox.Port) {
	i.mu.Lock()
	defer i.mu.Unlock()
	in := i.boxes[box]
	if in == nil {
		return
	}
	for had := in.same(p); had != nil; had = in.same(p) {
		i.endPort(in, had)
	}
	i.tidy(in)
}

func (i *Ingress) endPort(in *inlet, p *published) {
	delete(in.ports, p.host)
	delete(i.hosts, p.host)
	for _, l := range p.listeners {
		_ = l.Close()
	}
	p.close()
}

// accept relays the connections of one listener until it is closed.
func (i *Ingress) accept(p *published, l net.Listener) {
	for {
		c, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of files, say: that passes
			i.log.Warn("cannot accept a connection", "box", p.box.ID, "port", p.host, "error", err)
			pause(p.open.Done(), 100*time.Millisecond)
		case !p.room.enter():
			cut(c)
		default:
			i.running.Go(func() { i.serve(p, c) })
		}
	}
}

func (i *Ingress) serve(p *published, c net.Conn) {
	defer p.room.leave()
	if !p.conns.add(c) {
		return
	}
	defer p.leave(c)
	far, err := p.enter(p.open)
	if err != nil {
		i.log.Debug("cannot reach a published port", "box", p.box.ID, "port", p.port, "error", err)
		cut(c)
		return
	}
	defer p.leave(far)
	relay(c, far)
}

// pause waits, but not once over is closed.
func pause(over <-chan struct{}, d time.Duration) {
	select {
	case <-over:
	case <-time.After(d):
	}
}

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
