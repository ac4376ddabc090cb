//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// pageServer serves a page with its argument on a port of the loopback, and says
// nothing before.
const pageServer = `/usr/bin/python3 -c "
import http.server, sys
class page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(sys.argv[2].encode())
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), page).serve_forever()" "$@"`

// starts runs a command in a box in the background, until the test is over.
func (w *netWorld) starts(box string, argv ...string) {
	w.Helper()
	w.must(append([]string{"exec", "-d", box, "--"}, argv...)...)
}

// TestSamePortInThreeBoxes: each has its own loopback, so they do not collide.
func TestSamePortInThreeBoxes(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	for _, box := range []string{"one", "two", "three"} {
		w.makeBox(box)
		w.starts(box, sh(pageServer, "3000", "page of "+box)...)
	}
	for _, box := range []string{"one", "two", "three"} {
		w.must("wait", box, "--port", "3000")
		if out := w.works(box, sh(`curl -sSf http://127.0.0.1:3000/`)...); out != "page of "+box {
			t.Errorf("in %s: %s", box, out)
		}
		port := w.publish(box, "3000")
		if got := w.page(fmt.Sprintf("http://127.0.0.1:%d/", port.Host)); got != "page of "+box {
			t.Errorf("published by %s: %s", box, got)
		}
		if got := w.page(w.urlOf(box, 3000)); got != "page of "+box {
			t.Errorf("opened in %s: %s", box, got)
		}
	}
}

// publish is `forkbox port`.
func (w *netWorld) publish(box, what string) (p forkbox.Port) {
	w.Helper()
	w.reads(&p, "port", box, what)
	if p.Host == 0 {
		w.Fatalf("port %s of %s is published as %+v", what, box, p)
	}
	return p
}

func (w *netWorld) urlOf(box string, port int) string {
	w.Helper()
	return w.must("open", box, fmt.Sprint(port), "--no-browser")
}

// onLoopback is a client of the host's, to whom *.localhost is the loopback, as
// it is to browsers.
func (w *netWorld) onLoopback() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		return w.dialHost(w.T, "tcp", "127.0.0.1:"+port)
	}}}
}

func (w *netWorld) page(from string) string {
	w.Helper()
	answer, err := w.onLoopback().Get(from)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	w.ok(err)
	if answer.StatusCode != http.StatusOK {
		return answer.Status + " " + string(body)
	}
	return string(body)
}

// TestPorts: published ports come and go with their box, and survive its rest
// and the daemon.
func TestPorts(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	box := w.makeBox("served")
	w.starts(box, sh(pageServer, "3000", "a page")...)
	w.must("wait", box, "--port", "3000")
	w.publish(box, "3000:18080")
	there := func() string { return w.page("http://127.0.0.1:18080/") }
	if got := there(); got != "a page" {
		t.Fatalf("published: %s", got)
	}
	w.starts(w.makeBox("other"), "sleep", "60")
	w.refused([]string{"18080"}, "port", "other", "3000:18080")
	w.restart()
	if got := there(); got != "a page" {
		t.Errorf("after the daemon was killed: %s", got)
	}
	w.must("stop", box)
	if got := there(); !strings.Contains(got, "refused") {
		t.Errorf("while it is stopped: %s", got)
	}
	w.starts(box, sh(pageServer, "3000", "again")...)
	w.must("wait", box, "--port", "3000")
	if got := there(); got != "again" {
		t.Errorf("started again: %s", got)
	}
	w.must("port", box, "--rm", "3000")
	if got := there(); !strings.Contains(got, "refused") {
		t.Errorf("taken back: %s", got)
	}
	w.publish(box, "3000:18080")
	w.must("rm", "-f", box)
	if got := there(); !strings.Contains(got, "refused") {
		t.Errorf("removed: %s", got)
	}
}

// TestPortNobodyListensOn looks to a client as if it were not published.
func TestPortNobodyListensOn(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	box := w.makeBox("empty")
	w.starts(box, "sleep", "60")
	p := w.publish(box, "3000")
	if got := w.page(fmt.Sprintf("http://127.0.0.1:%d/", p.Host)); !strings.Contains(got, "reset") && !strings.Contains(got, "EOF") && !strings.Contains(got, "refused") {
		t.Errorf("it says %s", got)
	}
	out, said, code := w.cli("wait", box, "--port", "3000", "--timeout", "300ms")
	if code == 0 || !strings.Contains(said, "3000") {
		t.Errorf("wait says %d %s%s", code, out, said)
	}
	w.refused([]string{"65535"}, "port", box, "3000:99999")
	if os.Geteuid() != 0 {
		w.refused([]string{"1024"}, "port", box, "3000:80")
	}
}
