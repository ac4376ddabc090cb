package intercept

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/tlshello"
)

const (
	randomAt  = tlshello.HeaderSize + 4 + 2 // in a server's hello: after its length and version
	mostHello = 64 << 10

	errHello = "TLS in the tunnel does not begin as it should"
)

// retryHello is a server's hello that asks for another of the client's, up to the
// number by which it is known. What is before that is not looked at.
var retryHello = strings.Repeat("\x00", randomAt) +
	"\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"

// readRecord takes one whole record, of any kind.
func readRecord(from *bufio.Reader) ([]byte, error) {
	header, err := from.Peek(tlshello.HeaderSize)
	if err != nil {
		return nil, err
	}
	if length := tlshello.RecordLength(header); header[1] != 3 || length == 0 || length > tlshello.RecordMost {
		return nil, errors.New(errHello)
	}
	record := make([]byte, tlshello.HeaderSize+tlshello.RecordLength(header))
	_, err = io.ReadFull(from, record)
	return record, err
}

// readHello takes a ClientHello, in as many records as it comes in and no byte
// more: what follows in the same record would not be looked at.
func readHello(from *bufio.Reader) (name string, hello []byte, why string) {
	var message []byte
	for need := 4; len(message) < need; {
		record, err := readRecord(from)
		if err != nil || record[0] != tlshello.RecordHandshake || len(hello) > mostHello {
			return "", nil, errHello
		}
		hello, message = append(hello, record...), append(message, record[tlshello.HeaderSize:]...)
		if len(message) >= 4 {
			need = tlshello.MessageSize(message)
		}
		if message[0] != tlshello.ClientHello || len(message) > need && len(message) >= 4 {
			return "", nil, errHello
		}
	}
	name, err := tlshello.Name(hello, mostHello)
	if err != nil {
		return "", nil, errHello
	}
	return bareHost(name), hello, ""
}

// greet ends the client's TLS, if it has any, and returns what the server is to
// serve. HTTP/2 has its own framing; HTTP/1 goes through heads.
func (i *Interceptor) greet(c *client) (net.Conn, bool) {
	if !c.TLS {
		return newHeads(c, c), true
	}
	conn := tls.Server(c, i.serverConfig(c))
	_ = c.SetDeadline(time.Now().Add(i.limits.HeadTime))
	if err := conn.Handshake(); err != nil {
		explainPlainHTTP(c, err)
		return nil, false
	}
	_ = c.SetDeadline(time.Time{})
	if conn.ConnectionState().NegotiatedProtocol == "h2" {
		return conn, true
	}
	return newHeads(c, conn), true
}

func (i *Interceptor) serverConfig(c *client) *tls.Config {
	return &tls.Config{
		// HTTP/1.1 for all who speak both: uploads of the libcurl that git uses on
		// many machines stall now and then over HTTP/2. gRPC speaks only that.
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1", "h2"},
		// A resumed session shows no certificate, so no client would ask which
		// name.
		SessionTicketsDisabled: true,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return i.certificate(c, hello.ServerName)
		},
	}
}

// certificate is only ever for the name that the gate allowed. The gate has
// looked at the same bytes, so another name means that it was fooled.
func (i *Interceptor) certificate(c *client, name string) (*tls.Certificate, error) {
	if bareHost(name) == c.Host && c.Host != "" {
		return i.CA.Leaf(c.Host)
	}
	t := c.target()
	t.Host = bareHost(name)
	v := i.refusal(t, fmt.Sprintf("TLS names %q on a connection to %q", name, c.Host))
	c.refuse(v)
	i.record(Exchange{Verdict: v})
	return nil, forkbox.Errorf(forkbox.Denied, "end TLS", "%s", v.Why)
}

// explainPlainHTTP answers a client that speaks HTTP where TLS was announced, in
// words instead of an alert that it cannot read.
func explainPlainHTTP(c *client, err error) {
	var header tls.RecordHeaderError
	if !errors.As(err, &header) || header.Conn == nil {
		return
	}
	_, _ = fmt.Fprintf(header.Conn, "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"+
		"forkbox: this is not TLS, and at %s port %d TLS is expected\n", c.Host, c.Addr.Port())
}
