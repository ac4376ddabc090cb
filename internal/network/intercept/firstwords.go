package intercept

import (
	"bufio"
	"strings"
	"time"

	"github.com/forkbox/forkbox/internal/network/tlshello"
)

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
