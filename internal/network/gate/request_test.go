//go:build linux

package gate

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestFirstLineDecidesWhatIsARequest sends what many servers answer, and a
// request for another host after it: whatever the first looks like, the second
// must not arrive.
func TestFirstLineDecidesWhatIsARequest(t *testing.T) {
	f := open(t, "deny evil.example\nallow good.example:80", func(c *Config) {
		c.Intercept = func(conn net.Conn, m Meta) { conn.Close() }
	})
	f.name("good.example", "60 A 203.0.113.1")
	var mu sync.Mutex
	var hosts []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		hosts = append(hosts, r.Host)
	}))
	defer server.Close()
	f.at("tcp", "203.0.113.1:80", server.Listener.Addr().String())
	for _, pieces := range [][]string{
		{strings.Repeat("A", 33) + " / HTTP/1.1\r\n"},
		{strings.Repeat("A", 33), " / HTTP/1.1\r\n"},
		{strings.Repeat("A", 10_000) + " / HTTP/1.1\r\n"},
		{strings.Repeat("A", 70_000) + " / HTTP/1.1\r\n"},
		{"0000git-x / HTTP/1.1\r\n"},
		{"0000git-x /", "a HTTP/1.1\r\n"},
		{"0000git-x /\x00", " HTTP/1.1\r\n"},
		{"GET /\xc3\xa9", " HTTP/1.1\r\n"},
	} {
		conn, err := f.dialName("good.example", 80)
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range pieces {
			io.WriteString(conn, piece)
		}
		io.WriteString(conn, "Host: good.example\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
		io.Copy(io.Discard, conn)
		conn.Close()
	}
	mu.Lock()
	defer mu.Unlock()
	if slices.Contains(hosts, "evil.example") {
		t.Errorf("the server was asked for %q", hosts)
	}
}

// TestLinesThatSomeServersTake are those that are a request to one server or the
// other, and none to HTTP: none is relayed unseen, however it comes in pieces.
func TestLinesThatSomeServersTake(t *testing.T) {
	for _, line := range []string{
		" GET / HTTP/1.1\r\nHost: a\r\n\r\n", // Python's
		"\x0bGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"\x1cGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"\xa0GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"\x85\xa0GET\xa0/\xa0HTTP/1.1\r\nHost: a\r\n\r\n",
		"{\"} / HTTP/1.1\r\nHost: a\r\n\r\n",
		"<GET> / http/1.1\r\nHost: a\r\n\r\n",
		"0000git-x /\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
		strings.Repeat("{", 65_000) + " / HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		for cut := 1; cut < len(line); cut += max(1, len(line)/1000) {
			if said := classify([]byte(line[:cut])); said.kind == plain {
				t.Fatalf("%.80q is taken for plain after %d bytes", line, cut)
			}
		}
		if said := classify([]byte(line)); said.kind != odd && said.kind != httpRequest {
			t.Errorf("%.80q is %+v", line, said)
		}
	}
}

// TestLongLinesOfOtherProtocolsPass: no end of a line ever comes.
func TestLongLinesOfOtherProtocolsPass(t *testing.T) {
	f := open(t, "allow good.example")
	f.name("good.example", "60 A 203.0.113.1")
	f.tcp("203.0.113.1:5222", echo)
	conn, err := f.dialName("good.example", 5222)
	if err != nil {
		t.Fatal(err)
	}
	said := `{"text":"` + strings.Repeat("and on ", 30_000) + `"}`
	go func() {
		io.WriteString(conn, said)
		conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	if back, err := io.ReadAll(conn); string(back) != said {
		t.Errorf("%d of %d bytes came back, %v", len(back), len(said), err)
	}
}

// TestRequestsForProxiesGoToTheInterceptor, for any host: it judges that for
// each of them.
func TestRequestsForProxiesGoToTheInterceptor(t *testing.T) {
	taken := make(chan Meta, 1)
	f := open(t, "allow proxy.example:3128\nallow other.example:443\nallow 203.0.113.2", func(c *Config) {
		c.Intercept = func(conn net.Conn, m Meta) {
			io.WriteString(conn, "taken")
			taken <- m
		}
	})
	f.name("proxy.example", "60 A 203.0.113.1")
	f.tcp("203.0.113.1:3128", echo)
	f.tcp("203.0.113.2:3128", echo)
	for _, request := range []string{
		"CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n",
		"CONNECT evil.example:443 HTTP/1.1\r\nHost: proxy.example\r\n\r\n",
		"GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n",
		"GET http://evil.example/ HTTP/1.1\r\nHost: proxy.example\r\n\r\n",
		"GET http://proxy.example/ HTTP/1.1\r\nHost: proxy.example\r\n\r\n",
	} {
		conn, err := f.dialName("proxy.example", 3128)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, request)
		if said, _ := io.ReadAll(conn); string(said) != "taken" {
			t.Fatalf("%q: got %q", request, said)
		}
		if m := <-taken; m.Host != "proxy.example" || m.TLS || m.Addr != netip.MustParseAddrPort("203.0.113.1:3128") {
			t.Errorf("%q: the interceptor hears %+v", request, m)
		}
	}
	for _, c := range f.records() {
		if c.State == forkbox.ConnRefused {
			t.Errorf("the gate refused %+v", c)
		}
	}
	// Malformed is malformed, for a proxy as well.
	conn, err := f.dialName("proxy.example", 3128)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "CONNECT other.example:443 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
	if said, _ := io.ReadAll(conn); len(said) != 0 {
		t.Errorf("got %q", said)
	}
}
