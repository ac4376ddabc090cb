package intercept

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

const (
	testHost    = "api.example.com"
	testValue   = "s3cr3t/v4lue+of \"the\" token"
	placeholder = "forkbox-secret-0123456789abcdef0123456789abcdef"
)

// world is a server, an interceptor before it, and a port where a box's
// programs would arrive.
type world struct {
	*testing.T
	server   *httptest.Server
	i        *Interceptor
	listener net.Listener
	caPEM    string
	roots    *x509.CertPool // what the box trusts
	meta     Meta

	lock      sync.Mutex
	targets   []forkbox.NetTarget
	refused   []forkbox.NetVerdict
	exchanges []Exchange
}

// setup is how a world differs from the usual one.
type setup struct {
	plain    bool // no TLS
	nameless bool // the connection is by address
	h1       bool // the server has no HTTP/2
	secrets  []Secret
	check    func(forkbox.NetTarget) forkbox.NetVerdict
	connect  func(forkbox.NetTarget) forkbox.NetVerdict
	ends     func(host string, port int) bool // TLS at the gate
	needs    func(host string, port int) bool // its requests judged
	limits   Limits
	cert     *tls.Certificate // the server's
	dial     func(context.Context) (net.Conn, error)
}

func bound(hosts ...string) []Secret {
	return []Secret{{Name: "TOKEN", Hosts: hosts, Placeholder: placeholder, Value: []byte(testValue)}}
}

func madeCA(t testing.TB, name string) (*CA, string) {
	t.Helper()
	certPEM, keyPEM, err := NewCA(name)
	must(t, err)
	ca, err := LoadCA(certPEM, keyPEM)
	must(t, err)
	return ca, certPEM
}

func pool(certPEM string) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM([]byte(certPEM))
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newWorld starts everything, and checks at the end that all of it has ended.
func newWorld(t *testing.T, s setup, handler http.HandlerFunc) *world {
	t.Helper()
	before := runtime.NumGoroutine()
	serverCA, serverPEM := madeCA(t, "server")
	boxCA, boxPEM := madeCA(t, "box")
	w := &world{T: t, caPEM: boxPEM, roots: pool(boxPEM)}
	w.startServer(s, serverCA, handler)
	i, err := New(Config{
		CA: boxCA, Roots: pool(serverPEM), Limits: s.limits, Secrets: func() []Secret { return s.secrets },
		Check: w.judge(s.check), Record: w.record, Connect: s.connect, Terminates: s.ends, NeedsRequests: s.needs,
		Remedy: func(target forkbox.NetTarget) string { return "forkbox net allow BOX " + target.Host },
	})
	must(t, err)
	w.i = i
	w.listener, err = net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port := w.listener.Addr().(*net.TCPAddr).Port
	w.meta = Meta{Host: testHost, Addr: netip.AddrPortFrom(netip.MustParseAddr("203.0.113.7"), uint16(port)), TLS: !s.plain, Dial: s.dial, Refused: w.refuse}
	if s.nameless {
		w.meta.Host = ""
	}
	if s.dial == nil {
		w.meta.Dial = func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", w.server.Listener.Addr().String())
		}
	}
	var serving sync.WaitGroup
	serving.Go(func() { w.accept(&serving) })
	t.Cleanup(func() {
		_ = w.listener.Close()
		_ = i.Close()
		serving.Wait()
		w.server.CloseClientConnections()
		w.server.Close()
		settled(t, before)
	})
	return w
}

func (w *world) startServer(s setup, ca *CA, handler http.HandlerFunc) {
	w.server = httptest.NewUnstartedServer(handler)
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if s.plain {
		w.server.Start()
		return
	}
	leaf := s.cert
	if leaf == nil {
		var err error
		leaf, err = ca.Leaf(testHost)
		must(w, err)
	}
	w.server.EnableHTTP2 = !s.h1
	w.server.TLS = &tls.Config{Certificates: []tls.Certificate{*leaf}}
	w.server.StartTLS()
}

func (w *world) accept(serving *sync.WaitGroup) {
	for {
		conn, err := w.listener.Accept()
		if err != nil {
			return
		}
		serving.Go(func() { w.i.Serve(conn, w.meta) })
	}
}

// settled waits until as many goroutines run as before.
func settled(t *testing.T, before int) {
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for range 30_000 { // a server lingers for half a second over a connection that it refused
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines instead of %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}

func (w *world) judge(check func(forkbox.NetTarget) forkbox.NetVerdict) func(forkbox.NetTarget) forkbox.NetVerdict {
	return func(target forkbox.NetTarget) forkbox.NetVerdict {
		w.lock.Lock()
		w.targets = append(w.targets, target)
		w.lock.Unlock()
		if check != nil {
			return check(target)
		}
		return forkbox.NetVerdict{Target: target, Allowed: true}
	}
}

func (w *world) record(x Exchange) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.exchanges = append(w.exchanges, x)
}

func (w *world) refuse(v forkbox.NetVerdict) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.refused = append(w.refused, v)
}

// told returns what was refused so far.
func (w *world) told() []forkbox.NetVerdict {
	w.lock.Lock()
	defer w.lock.Unlock()
	return append([]forkbox.NetVerdict(nil), w.refused...)
}

// records ends all connections and returns what was recorded of them.
func (w *world) records() []Exchange {
	_ = w.i.Close()
	return w.exchanges
}

func (w *world) port() int { return int(w.meta.Addr.Port()) }

// url is an address as a program in the box would write it.
func (w *world) url(path string) string {
	scheme := "http"
	if w.meta.TLS {
		scheme = "https"
	}
	return scheme + "://" + testHost + ":" + strconv.Itoa(w.port()) + path
}

// client is a Go program in the box.
func (w *world) client(h2 bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!h2)
	protocols.SetHTTP2(h2)
	transport := &http.Transport{
		Protocols: protocols, DisableCompression: true,
		TLSClientConfig: &tls.Config{RootCAs: w.roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, w.listener.Addr().String())
		},
	}
	w.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// raw is a connection on which a test says every byte itself.
func (w *world) raw() net.Conn {
	w.Helper()
	conn, err := net.Dial("tcp", w.listener.Addr().String())
	must(w, err)
	w.Cleanup(func() { conn.Close() })
	if !w.meta.TLS {
		return conn
	}
	secure := tls.Client(conn, &tls.Config{RootCAs: w.roots, ServerName: testHost, NextProtos: []string{"http/1.1"}})
	must(w, secure.Handshake())
	return secure
}

// say sends text to a fresh connection and returns all that comes back. HOST in
// it is the host and port.
func (w *world) say(text string) string {
	w.Helper()
	conn := w.raw()
	_, err := io.WriteString(conn, strings.ReplaceAll(text, "HOST", testHost+":"+strconv.Itoa(w.port())))
	must(w, err)
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

func (w *world) do(h2 bool, r *http.Request) (*http.Response, string) {
	w.Helper()
	answer, err := w.client(h2).Do(r)
	must(w, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(w, err)
	return answer, string(body)
}

func (w *world) get(h2 bool, path string, header ...string) (*http.Response, string) {
	w.Helper()
	r, err := http.NewRequest("GET", w.url(path), nil)
	must(w, err)
	for n := 0; n < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	return w.do(h2, r)
}

func want(t testing.TB, what string, got, wanted any) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s is %v, want %v", what, got, wanted)
	}
}

func wantIn(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
}
