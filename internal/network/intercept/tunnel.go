package intercept

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/tlshello"
)

// tunnel is what a CONNECT has become: bytes go both ways, and the gate does
// not look at them after what the box says first.
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

// What a tunnel is for is seen in what the box says first, and looked at before
// any of it goes out. A tunnel to an allowed host is not to be one to another: by
// the name in TLS, which servers with many names go by, or by a request over
// plain HTTP, which proxies pass on. So it is TLS for a host that may be reached,
// or SSH, which names none.

const onlyThese = "in a tunnel through a proxy only TLS and SSH are spoken"

// sayFirst sends the box's first words, or says why not.
func (t *tunnel) sayFirst(asksAgain <-chan bool) (why string) {
	first, err := t.fromBox.Peek(1)
	switch {
	case err != nil:
		return "" // it ended without a word
	case first[0] == tlshello.RecordHandshake:
		return t.beginTLS(asksAgain)
	}
	line, err := t.fromBox.ReadSlice('\n')
	text := strings.ToUpper(string(line))
	if err != nil || !strings.HasPrefix(text, "SSH-2.0-") || strings.Contains(text, "HTTP/") {
		return onlyThese
	}
	t.send(line)
	return ""
}

// beginTLS sends the ClientHello. A server may ask for a second one, and some go
// by the name in that.
func (t *tunnel) beginTLS(asksAgain <-chan bool) (why string) {
	name, hello, why := readHello(t.fromBox)
	if why == "" {
		why = t.mayName(name)
	}
	if why != "" {
		return why
	}
	_ = t.proxy.SetReadDeadline(time.Now().Add(t.owner.limits.HeadTime))
	t.send(hello)
	again := <-asksAgain
	_ = t.proxy.SetReadDeadline(time.Time{})
	if !again {
		return ""
	}
	return t.sendSecond(name)
}

// sendSecond sends all up to and with the second ClientHello. Before it can be
// data that was sent in the hope of a better answer.
func (t *tunnel) sendSecond(name string) (why string) {
	for {
		kind, err := t.fromBox.Peek(1)
		if err != nil {
			return ""
		}
		if kind[0] == tlshello.RecordHandshake {
			break
		}
		record, err := readRecord(t.fromBox)
		if err != nil || kind[0] != tlshello.RecordCipher && kind[0] != tlshello.RecordData {
			return errHello
		}
		t.send(record)
	}
	again, hello, why := readHello(t.fromBox)
	if why == "" && again != name {
		why = "TLS in the tunnel names one host and then another"
	}
	if why == "" {
		t.send(hello)
	}
	return why
}

// send writes to the proxy. That it fails is seen by who reads from there.
func (t *tunnel) send(words []byte) {
	if _, err := t.proxy.Write(words); err != nil {
		t.cut()
	}
}

// asksAgain says whether a server's first words are those of TLS that ask for a
// second ClientHello. It takes nothing from the reader, and does not wait for
// more of a server that speaks something else.
func asksAgain(from *bufio.Reader) bool {
	for _, need := range []int{1, tlshello.HeaderSize, len(retryHello)} {
		said, err := from.Peek(need)
		if err != nil || said[0] != tlshello.RecordHandshake || need == tlshello.HeaderSize && tlshello.RecordLength(said)+tlshello.HeaderSize < len(retryHello) {
			return false
		}
	}
	said, _ := from.Peek(len(retryHello))
	return said[tlshello.HeaderSize] == tlshello.ServerHello && string(said[randomAt:]) == retryHello[randomAt:]
}
