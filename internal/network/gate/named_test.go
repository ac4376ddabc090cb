//go:build linux

package gate

import (
	"crypto/tls"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/tlshello"
)

// https has a TLS server that says hello at an address.
func (w *world) https(address string) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		io.WriteString(to, "hello "+r.Host)
	}))
	server.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	server.StartTLS()
	w.t.Cleanup(server.Close)
	w.at("tcp", address, server.Listener.Addr().String())
}

// shake makes a TLS handshake that names a server, or none.
func shake(conn net.Conn, name string) error {
	return tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
}

func TestServerNameMustBeAPinnedOne(t *testing.T) {
	f := open(t, "deny bad.example\nallow good.example:443\nallow also.example:443\nallow elsewhere.example:443\nallow 203.0.113.64/26:443")
	f.name("good.example", "60 A 203.0.113.1")
	f.name("also.example", "60 A 203.0.113.1")
	f.name("elsewhere.example", "60 A 203.0.113.2")
	f.https("203.0.113.1:443")
	f.https("203.0.113.65:443")
	f.resolve("also.example")
	f.resolve("elsewhere.example")
	for name, want := range map[string]bool{
		"good.example":      true,
		"GOOD.example":      true,
		"also.example":      true,
		"elsewhere.example": false, // allowed, but it was not given out for this address
		"other.example":     false,
		"":                  false,
	} {
		conn, err := f.dialName("good.example", 443)
		if err != nil {
			t.Fatal(err)
		}
		if err := shake(conn, name); (err == nil) != want {
			t.Errorf("server name %q: %v", name, err)
		}
	}
	f.wantRecord("the mismatch", func(c forkbox.Conn) bool {
		return c.State == forkbox.ConnRefused && c.Target.Host == "other.example" && c.Target.Port == 443 && c.Out == 0
	})
	for name, want := range map[string]bool{"": true, "anything.example": true, "bad.example": false} {
		conn, err := f.box.dial("tcp", "203.0.113.65:443")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := shake(conn, name); (err == nil) != want {
			t.Errorf("by address, server name %q: %v", name, err)
		}
	}
}

func TestHostHeaderMustBeAPinnedName(t *testing.T) {
	f := open(t, "allow good.example:80")
	f.name("good.example", "60 A 203.0.113.1")
	heard := make(chan string, 16)
	f.tcp("203.0.113.1:80", func(conn net.Conn) {
		buf := make([]byte, 4096)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			heard <- string(buf[:n])
			io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		}
	})
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n":                        "204",
		"\r\n\nGET / HTTP/1.0\nhost:good.example:80\n\n":                      "204",
		"GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n":     "204",
		"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n":                       "403",
		"GET / HTTP/1.1\r\nX: y\r\n\r\n":                                      "403",
		"CONNECT other.example:443 HTTP/1.1\r\nHost: good.example\r\n\r\n":    "403",
		"GET / HTTP/1.1\r\nHost: good.example\r\nHost: other.example\r\n\r\n": "",
		"GET / HTTP/1.1\r\nHost: good.example\r\n other.example\r\n\r\n":      "",
		"GET http://other.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n":    "",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                    "",
		"get  /  http/1.1\r\nHost: other.example\r\n\r\n":                     "",
		"GET / HTTP/1.1\r\nHost : other.example\r\n\r\n":                      "",
		"GET / HTTP/1.1\r\nHost: good.example\rHost: other.example\r\n\r\n":   "",
		"GET / HTTP/1.1\r\nHost: good.example\x00other.example\r\n\r\n":       "",
		"GET\t/ HTTP/1.1\r\nHost: other.example\r\n\r\n":                      "",
		"X-METHOD / HTTP/1.1\r\nHost: other.example\r\n\r\n":                  "403",
	} {
		conn, err := f.dialName("good.example", 80)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, request)
		answer := make([]byte, 12)
		n, _ := io.ReadFull(conn, answer)
		got := strings.TrimPrefix(string(answer[:n]), "HTTP/1.1 ")
		if got != want {
			t.Errorf("%q: got %q, want %q", request, got, want)
		}
		conn.Close()
		select {
		case said := <-heard:
			if want != "204" || said != request {
				t.Errorf("%q: the server heard %q", request, said)
			}
		default:
			if want == "204" {
				t.Errorf("%q: the server heard nothing", request)
			}
		}
	}
}

func TestRequestInPiecesIsNotLetThrough(t *testing.T) {
	f := open(t, "allow good.example")
	f.name("good.example", "60 A 203.0.113.1")
	f.tcp("203.0.113.1:8080", func(conn net.Conn) { echo(conn) })
	conn, err := f.dialName("good.example", 8080)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []string{"G", "ET ", "/ HTT", "P/1.1\r\nHo", "st: other.ex", "ample\r\n", "\r\n"} {
		if _, err := io.WriteString(conn, piece); err != nil {
			t.Fatal(err)
		}
	}
	answer, _ := io.ReadAll(conn)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 403 ") || !strings.Contains(string(answer), "other.example") {
		t.Errorf("got %q", answer)
	}
	f.wantRecord("the mismatch", func(c forkbox.Conn) bool {
		return c.State == forkbox.ConnRefused && c.Target.Host == "other.example" && c.Out == 0
	})
}

func TestClientThatStopsInTheMiddle(t *testing.T) {
	f := open(t, "allow good.example")
	f.name("good.example", "60 A 203.0.113.1")
	heard := make(chan string, 64)
	f.tcp("203.0.113.1:8080", func(conn net.Conn) {
		buf := make([]byte, 4096)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			heard <- string(buf[:n])
			conn.Write([]byte("ok"))
		}
	})
	for _, c := range []struct {
		pieces []string
		passes bool // the last piece
	}{
		{[]string{"HELO", "me", "\n"}, true},
		{[]string{"GET", " / HTTP/1.1\r\nHost: ", "other.example\r\n\r\n"}, false},
	} {
		conn, err := f.dialName("good.example", 8080)
		if err != nil {
			t.Fatal(err)
		}
		last := len(c.pieces) - 1
		for _, piece := range c.pieces[:last] { // each is let through when it has waited long enough
			io.WriteString(conn, piece)
			if said := <-heard; said != piece {
				t.Errorf("of %q the server heard %q", piece, said)
			}
			if _, err := io.ReadFull(conn, make([]byte, 2)); err != nil {
				t.Fatal(err)
			}
		}
		io.WriteString(conn, c.pieces[last])
		_, err = io.ReadFull(conn, make([]byte, 2))
		if (err == nil) != c.passes {
			t.Errorf("%q: the last piece is answered with %v", c.pieces, err)
		}
		conn.Close()
		if c.passes {
			<-heard
		}
	}
	f.wantRecord("the late request", func(c forkbox.Conn) bool {
		return c.State == forkbox.ConnRefused && c.Target.Host == "other.example"
	})
	if len(heard) != 0 {
		t.Errorf("the server heard %q", <-heard)
	}
}

func TestRefusedNameOnPort80GetsAPage(t *testing.T) {
	f := open(t, "deny bad.example\nallow *")
	conn, err := f.dialName("bad.example", 80)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: bad.example\r\n\r\n")
	answer, err := io.ReadAll(conn)
	for _, want := range []string{"HTTP/1.1 403 Forbidden\r\n", "bad.example port 80", "deny bad.example", "why: "} {
		if !strings.Contains(string(answer), want) {
			t.Errorf("the page lacks %q: %q, %v", want, answer, err)
		}
	}
	if calls := f.calls(); len(calls) != 0 {
		t.Errorf("the gate called %v", calls)
	}
}

func TestInterceptorTakesOver(t *testing.T) {
	var got []Meta
	taken := make(chan string, 4)
	f := open(t, "allow GET api.example/v1/**\nallow web.example:80\nallow tls.example:443", func(cfg *Config) {
		cfg.Intercept = func(conn net.Conn, m Meta) {
			got = append(got, m)
			buf := make([]byte, 5)
			io.ReadFull(conn, buf)
			world, err := m.Dial(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			defer world.Close()
			world.Write([]byte("ping"))
			answer := make([]byte, 4)
			io.ReadFull(world, answer)
			m.Record(forkbox.NetVerdict{Target: forkbox.NetTarget{Proto: "tcp", Host: m.Host, Method: "POST", Path: "/v1/x"}, Why: "no"})
			conn.Write(answer)
			taken <- string(buf)
		}
	})
	for i, name := range []string{"api.example", "web.example", "tls.example"} {
		addr := "203.0.113." + string(rune('1'+i))
		f.name(name, "60 A "+addr)
		f.tcp(addr+":443", echo)
		f.tcp(addr+":80", echo)
	}
	conn, err := f.dialName("api.example", 443)
	if err != nil {
		t.Fatal(err)
	}
	go shake(conn, "api.example")
	if said := <-taken; said[0] != tlshello.RecordHandshake || !got[0].TLS || got[0].Host != "api.example" || got[0].Addr.String() != "203.0.113.1:443" {
		t.Errorf("the interceptor read %q of %+v", said, got)
	}
	f.wantRecord("the refused request", func(c forkbox.Conn) bool { return c.Target.Method == "POST" && c.State == forkbox.ConnRefused })
	f.wantRecord("the connection", func(c forkbox.Conn) bool { return c.State == forkbox.ConnClosed && c.In == 4 && c.Out == 4 })
	conn, err = f.dialName("web.example", 80)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: web.example\r\n\r\n")
	if said := <-taken; said != "GET /" || got[1].TLS || got[1].Host != "web.example" {
		t.Errorf("the interceptor read %q of %+v", said, got)
	}
	// What is not HTTP, where only some requests may pass, does not pass.
	conn, err = f.dialName("api.example", 80)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "SSH-2.0-x\r\n")
	if back, _ := io.ReadAll(conn); len(back) != 0 {
		t.Errorf("got %q back", back)
	}
	// TLS that does not end here is relayed.
	conn, err = f.dialName("tls.example", 443)
	if err != nil {
		t.Fatal(err)
	}
	go shake(conn, "tls.example")
	f.wantRecord("the relayed one", func(c forkbox.Conn) bool { return c.Target.Host == "tls.example" && c.State == forkbox.ConnOpen })
	if len(got) != 2 {
		t.Errorf("the interceptor got %d connections", len(got))
	}
}

// TestRuleAboutRequestsHoldsUnderAnotherName: the address has another name that
// is allowed, and is allowed by itself.
func TestRuleAboutRequestsHoldsUnderAnotherName(t *testing.T) {
	f := open(t, "allow GET api.example:443/x\nallow other.example:443\nallow 203.0.113.0/24:443")
	f.name("other.example", "60 A 203.0.113.1")
	f.https("203.0.113.1:443")
	for name, want := range map[string]bool{"api.example": false, "third.example": true, "other.example": true} {
		conn, err := f.dialName("other.example", 443)
		if err != nil {
			t.Fatal(err)
		}
		if err := shake(conn, name); (err == nil) != want {
			t.Errorf("server name %q: %v", name, err)
		}
	}
}
