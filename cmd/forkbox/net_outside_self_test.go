//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// TestOutsideWorld looks at the world without any box: what is tested with it
// means nothing if it is not as it says.
func TestOutsideWorld(t *testing.T) {
	t.Parallel()
	w := lookOutside(t)
	t.Run("echo", func(t *testing.T) { w.as(t).echoes() })
	t.Run("hears", func(t *testing.T) { w.as(t).hears() })
	t.Run("names", func(t *testing.T) { w.as(t).namesTurn() })
	t.Run("pages", func(t *testing.T) { w.as(t).pages() })
}

func (w *netWorld) echoes() {
	for _, to := range []string{w.Server4 + ":7", "[" + w.Server6 + "]:7"} {
		for _, network := range []string{"tcp", "udp"} {
			c, err := w.dialHost(w.T, network, to)
			w.ok(err)
			_ = c.SetDeadline(time.Now().Add(worldPatience))
			_, err = io.WriteString(c, "hello")
			w.ok(err)
			got := make([]byte, 5)
			if _, err = io.ReadFull(c, got); err != nil || string(got) != "hello" {
				w.Errorf("%s %s echoes %q %v", network, to, got, err)
			}
			c.Close()
		}
	}
}

// hears: the canary is silent until something is sent to it, on a port that no
// process listens on.
func (w *netWorld) hears() {
	w.silent(w.Canary4, w.Canary6)
	if c, err := w.dialHost(w.T, "tcp", w.Canary4+":9999"); err == nil {
		c.Close()
		w.Error("somebody listens there")
	}
	if got := strings.Join(w.heard(w.Canary4), ""); !strings.Contains(got, "protocol 6 to port 9999") {
		w.Errorf("the canary heard %q", got)
	}
	w.silent(w.Canary6)
}

func (w *netWorld) namesTurn() {
	name := w.names("turns", []string{w.Server4}, []string{w.Private})
	for _, want := range []string{w.Server4, w.Private, w.Private} {
		c, err := w.dialHost(w.T, "udp", dnsAddr+":53")
		w.ok(err)
		server := dns.Conn{Conn: c}
		w.ok(server.WriteMsg(new(dns.Msg).SetQuestion(name+".", dns.TypeA)))
		answer, err := server.ReadMsg()
		w.ok(err)
		c.Close()
		if len(answer.Answer) != 1 || !strings.HasSuffix(answer.Answer[0].String(), want) {
			w.Errorf("%s is %v, not %s", name, answer.Answer, want)
		}
	}
	if asked := w.asked(w.domain); len(asked) != 3 {
		w.Errorf("it was asked %v", asked)
	}
}

func (w *netWorld) pages() {
	pem, err := os.ReadFile(w.outsideFile("ca.pem"))
	w.ok(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	name := w.name("page")
	transport := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return w.dialHost(w.T, "tcp", w.Server4+":443")
		},
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, DisableKeepAlives: true,
	}
	answer, err := (&http.Client{Transport: transport}).Get("https://" + name + "/")
	w.ok(err)
	answer.Body.Close()
	if got := w.got(name); answer.Proto != "HTTP/2.0" || len(got) != 1 || got[0].SNI != name {
		w.Errorf("%s, and the server had %+v", answer.Proto, got)
	}
}
