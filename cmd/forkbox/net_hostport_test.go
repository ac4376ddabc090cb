//go:build linux

package main

import (
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestHostPort: one service of the host's loopback, by name, and nothing else.
func TestHostPort(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	var open, shut int
	w.onHost(t, func() { open, shut = w.echoOn("127.0.0.1:0"), w.echoOn("127.0.0.1:0") })
	box := w.makeBox("guest", "--host-port", fmt.Sprint(open))
	name := forkbox.HostName
	if out := w.works(box, w.inside("say", "tcp", fmt.Sprintf("%s:%d", name, open), "a line")...); out != "ok a line" {
		t.Errorf("it says %s", out)
	}
	w.recorded(box, want{host: name, port: open, state: forkbox.ConnClosed})
	for _, to := range []string{name, "198.18.0.1", hostAddr4, "192.0.2.255"} {
		w.failsIn(box, w.inside("dial", "tcp", fmt.Sprintf("%s:%d", to, shut))...)
	}
	w.recorded(box, want{state: forkbox.ConnRefused, port: shut})
	for _, to := range []string{hostAddr4, "127.0.0.1", "0.0.0.0"} { // the host's loopback is not the box's
		w.failsIn(box, w.inside("dial", "tcp", fmt.Sprintf("%s:%d", to, open))...)
	}
	w.failsIn(w.makeBox("other"), w.inside("dial", "tcp", fmt.Sprintf("%s:%d", name, open))...)
	w.failsIn(box, w.inside("say", "udp", fmt.Sprintf("%s:%d", name, open), "x")...)
}

// echoOn echoes on an address of the host, and returns the port.
func (w *netWorld) echoOn(address string) int {
	w.Helper()
	l, err := net.Listen("tcp", address)
	w.ok(err)
	w.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); io.Copy(c, c) }()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}
