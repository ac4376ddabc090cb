//go:build linux

package main

import (
	"bufio"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/websocket"
)

// TestOpenIsNoProxy: the router of URLs leads to what was opened, and nowhere
// else.
func TestOpenIsNoProxy(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	box := w.makeBox("served")
	w.starts(box, sh(pageServer, "3000", "a page")...)
	w.starts(box, sh(pageServer, "3001", "not opened")...)
	w.must("wait", box, "--port", "3001")
	opened, err := url.Parse(w.urlOf(box, 3000))
	w.ok(err)
	if !strings.HasPrefix(opened.Host, "3000--served.localhost:") {
		t.Errorf("the URL is %s", opened)
	}
	for _, host := range []string{"3001--served.localhost", "3000--other.localhost", "evil.example", "localhost", "127.0.0.1", "", "3000--served.localhost.evil.example"} {
		c, err := w.dialHost(t, "tcp", "127.0.0.1:"+opened.Port())
		w.ok(err)
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host)
		status, _ := bufio.NewReader(c).ReadString('\n')
		c.Close()
		if !strings.Contains(status, " 4") {
			t.Errorf("as %q it says %s", host, status)
		}
	}
}

// TestOpenWebSocket goes through the router.
func TestOpenWebSocket(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	box := w.makeBox("served")
	w.starts(box, w.inside("serve-ws", "127.0.0.1:3000")...)
	w.must("wait", box, "--port", "3000")
	opened := strings.Replace(w.urlOf(box, 3000), "http://", "ws://", 1)
	config, err := websocket.NewConfig(opened, "http://localhost/")
	w.ok(err)
	c, err := w.dialHost(t, "tcp", "127.0.0.1:"+config.Location.Port())
	w.ok(err)
	defer c.Close()
	ws, err := websocket.NewClient(config, c)
	w.ok(err)
	w.ok(websocket.Message.Send(ws, "a line"))
	var got string
	w.ok(websocket.Message.Receive(ws, &got))
	if got != "a line" {
		t.Errorf("it echoes %q", got)
	}
}
