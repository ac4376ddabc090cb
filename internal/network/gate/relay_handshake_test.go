//go:build linux

package gate

import (
	"bytes"
	"crypto/tls"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/tlshello"
)

// say sends pieces to an echo, each once the one before has come back, and gives
// how many bytes came back.
func say(conn net.Conn, pieces ...[]byte) (n int, err error) {
	for _, piece := range pieces {
		if _, err = conn.Write(piece); err != nil {
			return n, err
		}
		back := make([]byte, len(piece))
		m, err := io.ReadFull(conn, back)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// TestSecondHelloMustNameTheSameHost: the pieces are echoed one by one, so none
// of them is held back.
func TestSecondHelloMustNameTheSameHost(t *testing.T) {
	good := hello(t, &tls.Config{ServerName: "good.example"})
	evil := hello(t, &tls.Config{ServerName: "evil.example"})
	odd := slices.Collect(slices.Chunk(evil, 37))
	for what, c := range map[string]struct {
		pieces [][]byte
		passes bool
	}{
		"the same":                {[][]byte{good, good}, true},
		"the same, at once":       {[][]byte{join(good, cipherRecord, good)}, true},
		"the same in pieces":      {slices.Concat([][]byte{good}, slices.Collect(slices.Chunk(good, 37))), true},
		"the same, then anything": {[][]byte{good, good, []byte(dataRecord), evil, []byte("anything")}, true},
		"TLS 1.2":                 {[][]byte{good, []byte(keys12), []byte(cipherRecord), []byte(finished12), []byte(dataRecord), evil}, true},
		"another":                 {[][]byte{good, evil}, false},
		"another, at once":        {[][]byte{join(good, evil)}, false},
		"another behind a cipher": {[][]byte{good, []byte(cipherRecord), evil}, false},
		"another in pieces":       {slices.Concat([][]byte{good}, odd), false},
		"another in records":      {[][]byte{good, split(evil, 9)}, false},
	} {
		f := open(t, "deny evil.example\nallow good.example:443")
		f.name("good.example", "60 A 203.0.113.1")
		f.tcp("203.0.113.1:443", echo)
		conn, err := f.dialName("good.example", 443)
		if err != nil {
			t.Fatal(err)
		}
		all := slices.Concat(c.pieces...)
		n, err := say(conn, c.pieces...)
		if passed := err == nil && n == len(all); passed != c.passes {
			t.Errorf("%s: %d of %d bytes came back: %v", what, n, len(all), err)
		}
		conn.Close()
		if c.passes {
			f.wantRecord(what, func(c forkbox.Conn) bool { return c.State == forkbox.ConnClosed && c.Target.Host == "good.example" })
			continue
		}
		r := f.wantRecord(what, func(c forkbox.Conn) bool { return c.State == forkbox.ConnRefused && c.Lasted > 0 })
		if r.Target.Host != "evil.example" || r.Target.Port != 443 || !strings.Contains(r.Why, "good.example") || r.Out >= int64(len(all)) {
			t.Errorf("%s: the record is %+v", what, r)
		}
	}
}

// TestSecondHelloToAnAllowedAddress: the address is allowed whatever it is for,
// except for a name that is denied.
func TestSecondHelloToAnAllowedAddress(t *testing.T) {
	f := open(t, "deny evil.example\nallow 203.0.113.0/24:443")
	f.tcp("203.0.113.1:443", echo)
	for _, first := range []string{"", "good.example"} {
		conn, err := f.box.dial("tcp", "203.0.113.1:443")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		said := hello(t, &tls.Config{ServerName: first})
		if _, err := say(conn, said, said); err != nil {
			t.Errorf("%q again: %v", first, err)
		}
		if n, err := say(conn, hello(t, &tls.Config{ServerName: "evil.example"})); err == nil {
			t.Errorf("%q, then evil.example: %d bytes came back", first, n)
		}
	}
	f.wantRecord("the second name", func(c forkbox.Conn) bool {
		return c.State == forkbox.ConnRefused && c.Target.Host == "evil.example"
	})
}

// TestBoxThatReadsNothingIsTurnedAway: what the server sends cannot be got rid
// of, and that must not keep the connection from ending.
func TestBoxThatReadsNothingIsTurnedAway(t *testing.T) {
	f := open(t, "allow good.example:443")
	f.name("good.example", "60 A 203.0.113.1")
	full := make(chan bool)
	f.tcp("203.0.113.1:443", func(conn net.Conn) {
		for err := error(nil); err == nil; { // until nobody takes any more
			conn.SetWriteDeadline(time.Now().Add(time.Second))
			_, err = conn.Write(make([]byte, 1<<20))
		}
		close(full)
		io.Copy(io.Discard, conn)
	})
	conn, err := f.dialName("good.example", 443)
	if err != nil {
		t.Fatal(err)
	}
	conn.Write(hello(t, &tls.Config{ServerName: "good.example"}))
	<-full
	conn.Write(hello(t, &tls.Config{ServerName: "evil.example"}))
	f.wantRecord("the refusal", func(c forkbox.Conn) bool { return c.State == forkbox.ConnRefused && c.Lasted > 0 })
}

// changedSecond is a connection whose second ClientHello names another host.
type changedSecond struct {
	net.Conn
	hellos int
}

func (c *changedSecond) Write(p []byte) (int, error) {
	if p[0] == tlshello.RecordHandshake {
		c.hellos++
	}
	if c.hellos < 2 {
		return c.Conn.Write(p)
	}
	return c.Conn.Write(bytes.Replace(p, []byte("good.example"), []byte("evil.example"), 1))
}

// tlsServer says how much it got, over TLS as it is told to speak it. It returns
// its certificate.
func (w *world) tlsServer(address string, cfg *tls.Config) []tls.Certificate {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		io.WriteString(to, "hello, "+itoa(len(body))+" bytes")
	}))
	server.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	server.TLS = cfg
	server.StartTLS()
	w.t.Cleanup(server.Close)
	w.at("tcp", address, server.Listener.Addr().String())
	return server.TLS.Certificates
}

// request makes a handshake and sends more than is ever looked at.
func request(t *testing.T, conn net.Conn, cfg *tls.Config) tls.ConnectionState {
	t.Helper()
	client := tls.Client(conn, cfg)
	defer client.Close()
	body := 3 * peekMost
	io.WriteString(client, "POST / HTTP/1.1\r\nHost: good.example\r\nConnection: close\r\nContent-Length: "+itoa(body)+"\r\n\r\n")
	client.Write(make([]byte, body))
	answer, err := io.ReadAll(client)
	if err != nil || !strings.Contains(string(answer), "hello, "+itoa(body)+" bytes") {
		t.Errorf("got %q, %v", answer, err)
	}
	return client.ConnectionState()
}

func TestRealHandshakesPass(t *testing.T) {
	f := open(t, "allow good.example")
	f.name("good.example", "60 A 203.0.113.1")
	certificate := f.tlsServer("203.0.113.1:443", &tls.Config{})
	f.tlsServer("203.0.113.1:444", &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP384}})
	f.tlsServer("203.0.113.1:445", &tls.Config{ClientAuth: tls.RequireAnyClientCert})
	for what, c := range map[string]struct {
		port  int
		cfg   *tls.Config
		retry bool
	}{
		"1.2":                  {443, &tls.Config{MaxVersion: tls.VersionTLS12}, false},
		"1.3":                  {443, &tls.Config{MinVersion: tls.VersionTLS13}, false},
		"1.2, another curve":   {444, &tls.Config{MaxVersion: tls.VersionTLS12}, false},
		"1.3, asked again":     {444, &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP384}}, true},
		"1.2 with certificate": {445, &tls.Config{MaxVersion: tls.VersionTLS12, Certificates: certificate}, false},
		"1.3 with certificate": {445, &tls.Config{Certificates: certificate}, false},
	} {
		t.Run(what, func(t *testing.T) {
			c.cfg.ServerName, c.cfg.InsecureSkipVerify = "good.example", true
			c.cfg.ClientSessionCache = tls.NewLRUClientSessionCache(4)
			for _, resumed := range []bool{false, true} {
				conn, err := f.dialName("good.example", c.port)
				if err != nil {
					t.Fatal(err)
				}
				if state := request(t, conn, c.cfg); state.HelloRetryRequest != c.retry || state.DidResume != resumed {
					t.Errorf("asked again: %v, resumed: %v", state.HelloRetryRequest, state.DidResume)
				}
			}
		})
	}
}

func TestRealSecondHelloWithAnotherNameIsTurnedAway(t *testing.T) {
	f := open(t, "allow good.example")
	f.name("good.example", "60 A 203.0.113.1")
	f.tlsServer("203.0.113.1:443", &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP384}})
	conn, err := f.dialName("good.example", 443)
	if err != nil {
		t.Fatal(err)
	}
	changed := &changedSecond{Conn: conn}
	client := tls.Client(changed, &tls.Config{ServerName: "good.example", InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP384}})
	if client.Handshake() == nil || changed.hellos != 2 {
		t.Errorf("the handshake succeeded, or ended before the second of %d hellos", changed.hellos)
	}
	f.wantRecord("the second name", func(c forkbox.Conn) bool {
		return c.State == forkbox.ConnRefused && c.Target.Host == "evil.example" && c.Out > 0
	})
}
