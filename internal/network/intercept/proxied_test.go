package intercept

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/tlshello"
)

// company is a proxy, and the world that it leads to.
type company struct {
	lock   sync.Mutex
	seen   []string // what it was asked for, as it was written
	tunnel func(net.Conn, *bufio.Reader)
	deny   int // the status of its answer to everything, or 0
}

func (p *company) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.lock.Lock()
	p.seen = append(p.seen, fmt.Sprintf("%s %s Host=%s auth=%s token=%s", r.Method, r.RequestURI, r.Host, r.Header.Get("Proxy-Authorization"), r.Header.Get("X-Token")))
	p.lock.Unlock()
	switch {
	case p.deny != 0:
		w.Header().Set("Proxy-Authenticate", `Basic realm="company"`)
		http.Error(w, "the company says no", p.deny)
	case r.Method == "CONNECT":
		conn, words, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 Fine\r\nX-Proxy: company\r\n\r\n")
		p.tunnel(conn, words.Reader)
	default:
		_, _ = io.WriteString(w, "page of "+r.Host)
	}
}

func (p *company) asked() string {
	p.lock.Lock()
	defer p.lock.Unlock()
	return strings.Join(p.seen, "\n")
}

// echoAll says back what it hears, until the other side has no more to say.
func echoAll(conn net.Conn, from *bufio.Reader) {
	_, _ = io.Copy(conn, from)
	_, _ = io.WriteString(conn, "the end")
}

// goodOnly allows good.example.com, and 203.0.113.9.
func goodOnly(target forkbox.NetTarget) forkbox.NetVerdict {
	v := forkbox.NetVerdict{Target: target, Why: "no rule allows it", Remedy: "forkbox net allow BOX x"}
	v.Allowed = target.Host == "good.example.com" || target.Host == "" && target.Addr.String() == "203.0.113.9" || target.Host == testHost
	return v
}

// behindProxy is a world whose server is a proxy.
func behindProxy(t *testing.T, s setup) (*world, *company) {
	p := &company{tunnel: echoAll}
	if s.connect == nil {
		s.connect = goodOnly
	}
	if s.check == nil {
		s.check = goodOnly
	}
	s.h1 = true
	return newWorld(t, s, p.ServeHTTP), p
}

// dialTunnel asks for a tunnel and returns the connection, if there is one.
func (w *world) dialTunnel(to string) (net.Conn, *bufio.Reader) {
	w.Helper()
	conn := w.raw()
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic eA==\r\n\r\n", to, to)
	from := bufio.NewReader(conn)
	answer, err := http.ReadResponse(from, &http.Request{Method: "CONNECT"})
	must(w, err)
	want(w, "status of CONNECT "+to, answer.StatusCode, http.StatusOK)
	want(w, "the proxy's header", answer.Header.Get("X-Proxy"), "company")
	return conn, from
}

func TestAProxyIsAskedForWhatIsAllowed(t *testing.T) {
	for _, plain := range []bool{true, false} {
		w, p := behindProxy(t, setup{plain: plain, secrets: bound("good.example.com", testHost)})
		const more = "Proxy-Authorization: Basic eA==\r\nX-Token: " + placeholder + "\r\n"
		for target, line := range map[string]string{
			"http://good.example.com/x/y?z":     "GET http://good.example.com/x/y?z Host=good.example.com",
			"http://Good.Example.com.:8080/%2f": "GET http://good.example.com:8080/%2f Host=good.example.com:8080",
			"http://good.example.com":           "GET http://good.example.com/ Host=good.example.com",
			"https://good.example.com/x":        "GET https://good.example.com/x Host=good.example.com",
			"http://203.0.113.9/":               "GET http://203.0.113.9/ Host=203.0.113.9",
			"http://" + testHost + "/":          "GET http://" + testHost + "/ Host=" + testHost, // not the proxy's port
		} {
			p.seen = nil
			answer := w.say("GET " + target + " HTTP/1.1\r\nHost: " + strings.Split(target, "/")[2] + "\r\n" + more + "Connection: close\r\n\r\n")
			wantIn(t, answer, "200 OK", "page of ")
			want(t, target, p.asked(), line+" auth=Basic eA== token="+placeholder)
		}
		last := w.targets[len(w.targets)-1]
		want(t, "judged address of a name", last.Host == "" || !last.Addr.IsValid(), true)
		want(t, "judged method", last.Method, "GET")
		want(t, "refused requests", len(w.told()), 0)
		w.clean()
	}
}

func TestAProxyIsNotAskedForTheRest(t *testing.T) {
	for _, plain := range []bool{true, false} {
		w, p := behindProxy(t, setup{plain: plain,
			ends: func(host string, port int) bool { return host == "good.example.com" && port == 444 },
			check: func(target forkbox.NetTarget) forkbox.NetVerdict {
				v := goodOnly(target)
				v.Allowed = v.Allowed && target.Path != "/secret"
				return v
			}})
		for _, c := range []struct {
			line, answer, host string
			port               int
		}{
			{"CONNECT evil.example.net:443", "403 Forbidden", "evil.example.net", 443},
			{"CONNECT 203.0.113.10:443", "403 Forbidden", "", 443},
			{"CONNECT good.example.com:444", "could not see them through a proxy", "good.example.com", 444},
			{"CONNECT HOST", "not asked for a connection to itself", testHost, w.port()},
			{"CONNECT 203.0.113.7:" + strconv.Itoa(w.port()), "403 Forbidden", "", w.port()},
			{"CONNECT good.example.com", "400 Bad Request", "", 0},
			{"CONNECT x@good.example.com:443", "400 Bad Request", "", 0},
			{"CONNECT /good.example.com:443", "400 Bad Request", "", 0},
			{"GET http://evil.example.net/", "403 Forbidden", "evil.example.net", 80},
			{"GET https://evil.example.net:1/", "403 Forbidden", "evil.example.net", 1},
			{"GET http://good.example.com/secret", "403 Forbidden", "good.example.com", 80},
			{"GET ftp://good.example.com/", "400 Bad Request", "", 0},
		} {
			before := len(w.told())
			host := ""
			if words := strings.Split(c.line, "/"); len(words) > 2 {
				host = words[2]
			}
			answer := w.say(c.line + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\nHost: HOST\r\n\r\n")
			wantIn(t, answer, c.answer)
			want(t, "answers to "+c.line, strings.Count(answer, "HTTP/1.1 4"), 1)
			told := w.told()
			if want(t, "refused after "+c.line, len(told), min(len(told), before+1)); strings.Contains(answer, "403") {
				want(t, "refused host", told[before].Target.Host, c.host)
				want(t, "refused port", told[before].Target.Port, c.port)
			}
		}
		want(t, "what the proxy was asked for", p.asked(), "")
	}
}

// Without a policy to ask no proxy is used.
func TestProxiesAreNotUsedUnlessJudged(t *testing.T) {
	w, reached := counted(t, setup{plain: true})
	for _, line := range []string{"CONNECT good.example.com:443", "GET http://good.example.com/"} {
		answer := w.say(line + " HTTP/1.1\r\nHost: good.example.com\r\nConnection: close\r\n\r\n")
		if !strings.Contains(answer, "405 Method") && !strings.Contains(answer, "421 Misdirected") {
			t.Errorf("%s got %s", line, answer)
		}
	}
	want(t, "requests that came through", reached.Load(), int32(0))
}

// A tunnel carries TLS, and each side can end by itself.
func TestATunnel(t *testing.T) {
	ca, caPEM := madeCA(t, "good")
	leaf, err := ca.Leaf("good.example.com")
	must(t, err)
	for _, config := range []*tls.Config{{}, {MaxVersion: tls.VersionTLS12}, {CurvePreferences: []tls.CurveID{tls.CurveP384}}} { // the last one asks for another hello
		config.Certificates = []tls.Certificate{*leaf}
		w, p := behindProxy(t, setup{plain: config.MaxVersion == 0})
		p.tunnel = func(conn net.Conn, from *bufio.Reader) {
			secure := tls.Server(bufferedConn{conn, from}, config)
			if secure.Handshake() == nil {
				echoAll(secure, bufio.NewReader(secure))
				_ = secure.CloseWrite()
			}
			// To close while there is something to read resets the connection, and
			// what is on its way is lost.
			_, _ = io.Copy(io.Discard, from)
		}
		conn, from := w.dialTunnel("good.example.com:443")
		want(t, "what the proxy was asked for", p.asked(), "CONNECT good.example.com:443 Host=good.example.com:443 auth=Basic eA== token=")
		secure := tls.Client(bufferedConn{conn, from}, &tls.Config{ServerName: "good.example.com", RootCAs: pool(caPEM)})
		must(t, secure.Handshake())
		text := strings.Repeat("words ", 100000)
		go func() {
			_, _ = io.WriteString(secure, text)
			_ = secure.CloseWrite() // in TLS, and then the connection
			_ = closeWrite(conn)
		}()
		all, err := io.ReadAll(secure)
		must(t, err)
		if string(all) != text+"the end" {
			t.Errorf("%d bytes became %d", len(text), len(all))
		}
		want(t, "refused requests", len(w.told()), 0)
		want(t, "recorded status", w.records()[0].Status, http.StatusOK)
	}
}

type bufferedConn struct {
	net.Conn
	from *bufio.Reader
}

func (c bufferedConn) Read(p []byte) (int, error) { return c.from.Read(p) }

// SSH names no host: the one that was asked for counts. Its server speaks first.
func TestSSHInATunnel(t *testing.T) {
	w, p := behindProxy(t, setup{plain: true})
	p.tunnel = func(conn net.Conn, from *bufio.Reader) {
		_, _ = io.WriteString(conn, "SSH-2.0-server\r\n")
		echoAll(conn, from)
	}
	conn, from := w.dialTunnel("good.example.com:22")
	line, err := from.ReadString('\n')
	must(t, err)
	want(t, "the server's first word", line, "SSH-2.0-server\r\n")
	_, _ = io.WriteString(conn, "SSH-2.0-client\r\n\x00\x01")
	must(t, closeWrite(conn))
	rest, err := io.ReadAll(from)
	must(t, err)
	want(t, "the rest", string(rest), "SSH-2.0-client\r\n\x00\x01the end")
}

// A tunnel to an allowed host does not become one to another.
func TestWhatATunnelIsNotFor(t *testing.T) {
	var heard atomic.Int64
	w, p := behindProxy(t, setup{plain: true, ends: func(host string, _ int) bool { return host == testHost }})
	p.tunnel = func(conn net.Conn, from *bufio.Reader) {
		n, _ := io.Copy(io.Discard, from)
		heard.Add(n)
	}
	for _, words := range []string{
		"CONNECT evil.example.net:443 HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: evil.example.net\r\n\r\n",
		"SSH-2.0-x / HTTP/1.1\r\n\r\n", "\x15\x03\x01\x00\x02\x01\x5a" + hello("evil.example.net"),
		hello("evil.example.net"), hello(""), hello(testHost), "\x16\x03\x01\x00\x05hello", strings.Repeat("x", 10000),
		"\x16\x04" + hello("good.example.com")[2:], joined(hello("good.example.com"), hello("evil.example.net")),
	} {
		before := len(w.told())
		conn, from := w.dialTunnel("good.example.com:443")
		_, _ = io.WriteString(conn, words)
		_, _ = io.Copy(io.Discard, from)
		want(t, fmt.Sprintf("refused after %.20q", words), len(w.told()), before+1)
	}
	_ = w.i.Close()
	w.server.Close()
	want(t, "bytes that came through", heard.Load(), int64(0))
}

// A server that asks for a second ClientHello goes by the name in that.
func TestTheSecondHelloIsForTheSameHost(t *testing.T) {
	const changed = "\x14\x03\x03\x00\x01\x01"
	for second, passes := range map[string]bool{hello("good.example.com"): true, changed + hello("good.example.com"): true,
		hello("evil.example.net"): false, changed + hello("evil.example.net"): false, hello(testHost): false, "\x15\x03\x03\x00\x02\x01\x5a": false} {
		first := hello("good.example.com")
		heard := make(chan string, 1)
		w, p := behindProxy(t, setup{plain: true})
		p.tunnel = func(conn net.Conn, from *bufio.Reader) {
			_, _ = io.ReadFull(from, make([]byte, len(first)))
			retry := "\x02\x00\x00\x22\x03\x03" + retryHello[randomAt:]
			_, _ = io.WriteString(conn, "\x16\x03\x03\x00"+string(rune(len(retry)))+retry)
			rest, _ := io.ReadAll(from)
			heard <- string(rest)
		}
		conn, from := w.dialTunnel("good.example.com:443")
		_, _ = io.WriteString(conn, first+second) // it does not even wait to be asked
		_ = closeWrite(conn)
		_, _ = io.Copy(io.Discard, from)
		want(t, fmt.Sprintf("%.10q reaches the server", second), <-heard == second, passes)
		want(t, "refused", len(w.told()) == 0, passes)
	}
}

// hello is a ClientHello for a name.
func hello(name string) string {
	var said strings.Builder
	_ = tls.Client(mute{heard: &said}, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
	return said.String()
}

// joined is two messages in one record.
func joined(a, b string) string {
	both := a[tlshello.HeaderSize:] + b[tlshello.HeaderSize:]
	return a[:3] + string([]byte{byte(len(both) >> 8), byte(len(both))}) + both
}

// mute is a connection whose other end hears and never speaks.
type mute struct {
	net.Conn // nil: nothing else of it is used
	heard    *strings.Builder
}

func (mute) Read([]byte) (int, error)         { return 0, io.EOF }
func (m mute) Write(p []byte) (int, error)    { return m.heard.Write(p) }
func (mute) Close() error                     { return nil }
func (mute) SetWriteDeadline(time.Time) error { return nil }

// What a proxy itself refuses is the client's to read.
func TestAProxyThatSaysNo(t *testing.T) {
	w, p := behindProxy(t, setup{plain: true})
	p.deny = http.StatusProxyAuthRequired
	for _, line := range []string{"CONNECT good.example.com:443", "GET http://good.example.com/"} {
		answer := w.say(line + " HTTP/1.1\r\nHost: good.example.com\r\nConnection: close\r\n\r\n")
		wantIn(t, answer, "407 Proxy Authentication Required", "Proxy-Authenticate: Basic realm=\"company\"", "the company says no", "Connection: close")
	}
	want(t, "refused requests", len(w.told()), 0)
}

// Rules that change end tunnels that they no longer allow, and Close ends all.
func TestTunnelsEnd(t *testing.T) {
	for name, end := range map[string]func(*world, *atomic.Bool){
		"rules": func(w *world, denied *atomic.Bool) { w.i.Review(); denied.Store(true); w.i.Review() },
		"close": func(w *world, _ *atomic.Bool) { _ = w.i.Close() },
	} {
		var denied atomic.Bool
		w, _ := behindProxy(t, setup{plain: true, connect: func(target forkbox.NetTarget) forkbox.NetVerdict {
			v := goodOnly(target)
			v.Allowed = v.Allowed && !denied.Load()
			return v
		}})
		conn, from := w.dialTunnel("good.example.com:22")
		_, _ = io.WriteString(conn, "SSH-2.0-client\r\n")
		_, err := from.ReadString('\n')
		must(t, err)
		end(w, &denied)
		_, _ = io.Copy(io.Discard, from) // ends with the tunnel
		if name == "rules" {
			want(t, "refused", len(w.told()), 1)
			want(t, "refused host", w.told()[0].Target.Host, "good.example.com")
		}
	}
}

// Headers that have a server take a request for another one than was judged do
// not reach it, where only some requests may.
func TestMethodsAndPathsAreNotOverridden(t *testing.T) {
	for _, needs := range []bool{true, false} {
		var seen http.Header
		w := newWorld(t, setup{needs: func(host string, _ int) bool { return needs && host == testHost }}, func(w http.ResponseWriter, r *http.Request) {
			seen = r.Header.Clone()
		})
		w.get(false, "/", "X-HTTP-Method-Override", "DELETE", "X-Original-URL", "/admin", "X-Rewrite-URL", "/admin")
		for _, name := range []string{"X-Http-Method-Override", "X-Original-Url", "X-Rewrite-Url"} {
			want(t, name+" reaches the server", seen.Get(name) != "", !needs)
		}
	}
}

// A proxy that does not answer holds nothing up.
func TestCloseEndsAskingAProxy(t *testing.T) {
	asked := make(chan struct{})
	w, _ := behindProxy(t, setup{plain: true, dial: func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = http.ReadRequest(bufio.NewReader(theirs))
			close(asked)
			_, _ = io.Copy(io.Discard, theirs)
		}()
		return ours, nil
	}})
	go func() { <-asked; _ = w.i.Close() }()
	if answer := w.say("CONNECT good.example.com:443 HTTP/1.1\r\nHost: good.example.com:443\r\n\r\n"); strings.Contains(answer, "200") {
		t.Errorf("it got %s", answer)
	}
}
