package intercept

import (
	"bufio"
	"io"
	"net"
	"sync"

	"github.com/forkbox/forkbox"
)

// tunnel is what a CONNECT has become: bytes go both ways, and nobody looks at
// them after what the box says first.
type tunnel struct {
	*visit
	box, proxy         net.Conn
	fromBox, fromProxy *bufio.Reader
}

// serve returns when both sides have ended. What the proxy says is handed on at
// once, for servers that speak first.
func (t *tunnel) serve() {
	if !t.enter(t) {
		return
	}
	defer t.enter(nil)
	// The rules may have changed between the verdict and now.
	t.review()
	var back sync.WaitGroup
	again := make(chan bool, 1)
	back.Go(func() {
		again <- asksAgain(t.fromProxy)
		t.pour(t.box, t.fromProxy)
	})
	if why := t.sayFirst(again); why != "" {
		t.refuse(t.owner.refusal(t.Verdict.Target, why))
		t.cut()
	} else {
		t.pour(t.proxy, t.fromBox)
	}
	back.Wait()
}

// enter has the client know its tunnel, so that a change of rules finds it.
func (c *client) enter(t *tunnel) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.tunnel = t
	return !c.leaving
}

// pour hands on all that comes, and then that it has ended: the other direction
// may go on. An error ends both.
func (t *tunnel) pour(to net.Conn, from io.Reader) {
	buffer := bufferPool.Get().(*[scrubBuffer]byte)
	defer bufferPool.Put(buffer)
	// Bare, so that the buffer is used and not one of the reader's own.
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, buffer[:])
	if err != nil || closeWrite(to) != nil {
		t.cut()
	}
}

func (t *tunnel) cut() {
	_ = t.box.Close()
	_ = t.proxy.Close()
}

// review ends the tunnel if the rules no longer allow it, and has that on record.
func (t *tunnel) review() {
	if v := t.owner.mayPass(t.client, t.Verdict.Target); !v.Allowed {
		t.refuse(v)
		t.cut()
	}
}

// Review asks the rules again about what is open through proxies. It is called
// when they have changed; all else is asked about with each request.
func (i *Interceptor) Review() {
	for _, t := range i.tunnels() {
		t.review()
	}
}

func (i *Interceptor) tunnels() (open []*tunnel) {
	i.lock.Lock()
	defer i.lock.Unlock()
	for c := range i.clients {
		c.lock.Lock()
		if c.tunnel != nil {
			open = append(open, c.tunnel)
		}
		c.lock.Unlock()
	}
	return open
}

// mayName says why a tunnel must not be used for a server that TLS names, ""
// if it may.
func (t *tunnel) mayName(name string) string {
	target := t.Verdict.Target
	switch {
	case name == target.Host: // both are empty for an address
		return ""
	case name == "":
		return "TLS in the tunnel does not say for which host it is"
	}
	named := forkbox.NetTarget{Proto: target.Proto, Host: name, Port: target.Port, Method: target.Method}
	if v := t.owner.mayPass(t.client, named); !v.Allowed {
		return "TLS in the tunnel is for " + plainText(name, mostHost) + ": " + v.Why
	}
	return ""
}
