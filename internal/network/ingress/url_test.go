package ingress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
	"golang.org/x/net/websocket"
)

// web serves HTTP as a server in a box would.
func web(t *testing.T, h http.Handler) *server {
	s := listening(t)
	srv := &http.Server{Handler: h}
	go srv.Serve(s.Listener)
	t.Cleanup(func() { srv.Close() })
	return s
}

// openURL opens a port and tells the URL's host.
func openURL(t *testing.T, i *Ingress, box forkbox.Box, port int, dial Dial) *url.URL {
	t.Helper()
	s, err := i.URL(box, port, dial)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" {
		t.Fatalf("%q is no URL: %v", s, err)
	}
	return u
}

// visitorOf is a client for which names below localhost are the loopback, as
// they are for a browser, whatever this host's resolver says.
func visitorOf(t *testing.T) *http.Client {
	tr := &http.Transport{DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		return net.Dial("tcp", "127.0.0.1:"+port)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

func fetch(t *testing.T, c *http.Client, req *http.Request) (int, string) {
	t.Helper()
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func get(t *testing.T, u string) *http.Request {
	t.Helper()
	req, err := http.NewRequest("GET", u, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func says(s string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) })
}

func TestURLLeadsToItsBox(t *testing.T) {
	i := newIngress(t, Config{})
	client := visitorOf(t)
	for _, c := range []struct {
		box  forkbox.Box
		port int
		want string
	}{
		{try, 3000, "3000--try.localhost"},
		{try, 80, "80--try.localhost"},
		{aBox("222222222222", "other", 1000), 3000, "3000--other.localhost"},
		{aBox("2b2b2b2b2b2b", "try", 1001), 3000, "3000--try-u1001.localhost"},
		{aBox("333333333333", "a--b", 1000), 65535, "65535--a--b.localhost"},
		{aBox("444444444444", "ends-", 1000), 3000, "3000--ends--4444.localhost"},
		{aBox("555555555555", strings.Repeat("x", 63), 1000), 3000, "3000--555555555555.localhost"},
	} {
		said := fmt.Sprint(c.box.ID, c.port)
		u := openURL(t, i, c.box, c.port, web(t, says(said)).dial)
		if u.Hostname() != c.want {
			t.Errorf("port %d of %s is at %s, not at %s", c.port, c.box.Name, u.Hostname(), c.want)
		}
		if status, body := fetch(t, client, get(t, u.String())); status != 200 || body != said {
			t.Errorf("%s answered %d %q", u, status, body)
		}
	}
}

// reflected is what a server in the box was asked.
func reflected(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s %s host=%s\n", r.Method, r.RequestURI, r.Host)
	for _, name := range []string{"Origin", "Referer", "Cookie", "Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-For", "Accept-Encoding"} {
		fmt.Fprintf(w, "%s=%s\n", name, strings.Join(r.Header.Values(name), ","))
	}
}

func TestRequestsArriveAsTheyWereSent(t *testing.T) {
	i := newIngress(t, Config{})
	u := openURL(t, i, try, 3000, web(t, http.HandlerFunc(reflected)).dial)
	req := get(t, u.String()+"/a%2Fb//c?x=1;y=%zz&z")
	for name, value := range map[string]string{
		"Origin": u.String(), "Referer": u.String() + "/before", "Cookie": "a=b", "Accept-Encoding": "br",
		"Forwarded": "for=forged", "X-Forwarded-Host": "forged", "X-Forwarded-Proto": "forged", "X-Forwarded-For": "203.0.113.1",
	} {
		req.Header.Set(name, value)
	}
	want := fmt.Sprintf("GET /a%%2Fb//c?x=1;y=%%zz&z host=%[1]s\nOrigin=%[2]s\nReferer=%[2]s/before\nCookie=a=b\nForwarded=\nX-Forwarded-Host=%[1]s\nX-Forwarded-Proto=http\nX-Forwarded-For=127.0.0.1\nAccept-Encoding=br\n", u.Host, u)
	if _, got := fetch(t, visitorOf(t), req); got != want {
		t.Errorf("the server was asked\n%swant\n%s", got, want)
	}
}

// A connection is used again, on both sides.
func TestKeepAlive(t *testing.T) {
	s := web(t, says("hello"))
	i := newIngress(t, Config{})
	u := openURL(t, i, try, 3000, s.dial)
	c := connect(t, "127.0.0.1", i.router.port)
	r := bufio.NewReader(c)
	for range 50 {
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", u.Host)
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	if n := s.dials.Load(); n != 1 {
		t.Errorf("the box was dialled %d times for one connection", n)
	}
}

// One connection can ask for several boxes: each request is looked at.
func TestKeepAliveAcrossHosts(t *testing.T) {
	i := newIngress(t, Config{})
	one := openURL(t, i, try, 3000, web(t, says("one")).dial)
	two := openURL(t, i, aBox("222222222222", "other", 1000), 3000, web(t, says("two")).dial)
	c := connect(t, "127.0.0.1", i.router.port)
	r := bufio.NewReader(c)
	for _, ask := range []struct{ host, want string }{{one.Host, "one"}, {two.Host, "two"}, {"evil.example", "error: "}, {one.Host, "one"}} {
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", ask.host)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		if !strings.HasPrefix(string(body), ask.want) {
			t.Errorf("%s answered %q", ask.host, body)
		}
	}
}

func TestManyRequestsAtOnce(t *testing.T) {
	i := newIngress(t, Config{Connections: 1000})
	u := openURL(t, i, try, 3000, web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		_, _ = io.Copy(w, r.Body)
	})).dial)
	client := visitorOf(t)
	var all sync.WaitGroup
	for n := range 100 {
		all.Go(func() {
			said := strings.Repeat(fmt.Sprint(n, " "), 20_000)
			resp, err := client.Post(u.String(), "text/plain", strings.NewReader(said))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if heard, err := io.ReadAll(resp.Body); err != nil || string(heard) != said {
				t.Errorf("request %d got %d bytes, %v", n, len(heard), err)
			}
		})
	}
	all.Wait()
}

// What a server says is there when it says it, not when it is done.
func TestStreaming(t *testing.T) {
	next := make(chan struct{})
	i := newIngress(t, Config{})
	u := openURL(t, i, try, 3000, web(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for n := range 3 {
			fmt.Fprintf(w, "event %d\n", n)
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})).dial)
	resp, err := visitorOf(t).Get(u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	for n := range 3 {
		if line, err := r.ReadString('\n'); err != nil || line != fmt.Sprintf("event %d\n", n) {
			t.Fatal(line, err)
		}
		next <- struct{}{}
	}
}

func webSocket(t *testing.T, i *Ingress, u *url.URL) *websocket.Conn {
	t.Helper()
	config, err := websocket.NewConfig("ws://"+u.Host+"/socket", u.String())
	if err != nil {
		t.Fatal(err)
	}
	ws, err := websocket.NewClient(config, connect(t, "127.0.0.1", i.router.port))
	if err != nil {
		t.Fatal(err)
	}
	return ws
}

// sameOrigin echoes to pages of the server's own.
var sameOrigin = websocket.Server{
	Handshake: func(c *websocket.Config, r *http.Request) error {
		from, err := websocket.Origin(c, r)
		if err == nil && from.Host != r.Host {
			err = fmt.Errorf("a page of %s asks %s", from.Host, r.Host)
		}
		return err
	},
	Handler: func(ws *websocket.Conn) { _, _ = io.Copy(ws, ws) },
}

func TestWebSocket(t *testing.T) {
	i := newIngress(t, Config{})
	u := openURL(t, i, try, 3000, web(t, sameOrigin).dial)
	ws := webSocket(t, i, u)
	for n := range 20 {
		wantEcho(t, ws, fmt.Sprint("message ", n))
	}
	i.Close(try.ID)
	if n, err := ws.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes came from a closed box", n)
	}
}

// Another site's page is told apart by the server in the box, since Origin and
// Host come as they were sent.
func TestWebSocketOfAnotherOrigin(t *testing.T) {
	i := newIngress(t, Config{})
	u := openURL(t, i, try, 3000, web(t, sameOrigin).dial)
	config, err := websocket.NewConfig("ws://"+u.Host, "http://evil.example")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := websocket.NewClient(config, connect(t, "127.0.0.1", i.router.port)); err == nil {
		t.Error("a page of evil.example got a WebSocket")
	}
}
