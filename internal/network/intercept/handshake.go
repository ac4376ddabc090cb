package intercept

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/forkbox/forkbox"
)

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
		// A resumed session shows no certificate, so nobody would ask which name.
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
