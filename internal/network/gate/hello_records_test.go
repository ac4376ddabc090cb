//go:build linux

package gate

import (
	"crypto/tls"
	"net"
	"testing"
)

// changedFirst is a connection whose first write is changed.
type changedFirst struct {
	net.Conn
	change func(hello []byte) []byte
}

func (c *changedFirst) Write(p []byte) (int, error) {
	if c.change == nil {
		return c.Conn.Write(p)
	}
	changed := c.change(append([]byte(nil), p...))
	c.change = nil
	if _, err := c.Conn.Write(changed); err != nil {
		return 0, err
	}
	return len(p), nil
}

// oddRecords are ways to put a ClientHello that some servers take.
var oddRecords = map[string]func(hello []byte) []byte{
	"version 4.1": func(hello []byte) []byte { hello[1] = 4; return hello },
	"version 0.1": func(hello []byte) []byte { hello[1] = 0; return hello },
	"an alert":    func(hello []byte) []byte { return append([]byte{0x15, 3, 1, 0, 2, 1, 90}, hello...) },
	"many alerts": func(hello []byte) []byte {
		return append([]byte("\x15\x03\x01\x00\x02\x01\x70\x15\x03\x01\x00\x02\x01\x5a"), hello...)
	},
	"cipher first": func(hello []byte) []byte { return append([]byte{0x14, 3, 1, 0, 1, 1}, hello...) },
}

// TestServerNameIsCheckedInOddRecords: Go's own servers take some of these, so a
// handshake that succeeds has got through.
func TestServerNameIsCheckedInOddRecords(t *testing.T) {
	for _, rules := range []string{
		"deny evil.example\nallow good.example:443",
		"allow good.example:443", // evil.example is merely not allowed
	} {
		f := open(t, rules)
		f.name("good.example", "60 A 203.0.113.1")
		f.https("203.0.113.1:443")
		for what, change := range oddRecords {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				conn, err := f.dialName("good.example", 443)
				if err != nil {
					t.Fatal(err)
				}
				client := tls.Client(&changedFirst{conn, change}, &tls.Config{ServerName: "evil.example", InsecureSkipVerify: true, MaxVersion: version})
				if client.Handshake() == nil {
					t.Errorf("%s, TLS %x: the server was reached as evil.example", what, version)
				}
				conn.Close()
			}
		}
		if in := f.gate.Stats().Out; in != 0 {
			t.Errorf("%d bytes went out", in)
		}
	}
}
