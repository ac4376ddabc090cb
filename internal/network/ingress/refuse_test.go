package ingress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// raw sends bytes to the router and tells the status and body of the answer.
func raw(t *testing.T, i *Ingress, request string) (int, string) {
	t.Helper()
	c := connect(t, "127.0.0.1", i.router.port)
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

func TestHostileHosts(t *testing.T) {
	s := web(t, says("in the box"))
	i := newIngress(t, Config{})
	openURL(t, i, try, 3000, s.dial)
	port := strconv.Itoa(i.router.port)
	for host, want := range map[string]int{
		"3000--try.localhost":                    200,
		"3000--try.localhost:" + port:            200,
		"3000--TRY.LocalHost:1":                  200, // forwarded from another port, by ssh say
		"3000--try.localhost.":                   200,
		"evil.example":                           421,
		"3000--try.localhost.evil.example":       421,
		"3000--try.evil.example":                 421,
		"3000--trylocalhost":                     421,
		"localhost:" + port:                      421,
		".localhost":                             421,
		"127.0.0.1:" + port:                      421,
		"[::1]:" + port:                          421,
		"2130706433":                             421,
		"":                                       421,
		"3000--try.localhost..":                  421,
		"3000--try.localhost:":                   421,
		"3000--try.localhost:80a":                421,
		"3000--try.localhost:123456":             421,
		"user@3000--try.localhost":               400,
		"3000--try.loc\u212Aalhost":              400,
		"try.localhost":                          404,
		"3000-try.localhost":                     404,
		"3000--.localhost":                       404,
		"--try.localhost":                        404,
		"03000--try.localhost":                   404,
		"+3000--try.localhost":                   404,
		"-3000--try.localhost":                   404,
		"68536--try.localhost":                   404, // 3000 in 16 bits
		"4294970296--try.localhost":              404,
		"3001--try.localhost":                    404,
		"3000--other.localhost":                  404,
		"x.3000--try.localhost":                  404,
		"3000--try.x.localhost":                  404,
		strings.Repeat("a", 5000) + ".localhost": 404,
	} {
		status, body := raw(t, i, "GET / HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
		if status != want {
			t.Errorf("Host %q gave %d, not %d: %q", host, status, want, body)
		}
		if ours := strings.HasPrefix(body, "error: cannot open URL: ") && strings.Contains(body, "\nhint: "); (want == 404 || want == 421) && !ours {
			t.Errorf("Host %q gave no remedy: %q", host, body)
		}
	}
}

// It is a server, not a proxy: what a request line names is not dialled.
func TestNoOpenProxy(t *testing.T) {
	canary := listening(t)
	heard := make(chan struct{})
	go func() {
		if c, err := canary.Accept(); err == nil {
			c.Close()
			close(heard)
		}
	}()
	s := web(t, says("in the box"))
	i := newIngress(t, Config{})
	openURL(t, i, try, 3000, s.dial)
	for request, want := range map[string]int{
		"GET http://" + canary.Addr().String() + "/ HTTP/1.1\r\nHost: 3000--try.localhost\r\n\r\n": 421,
		"GET http://evil.example/ HTTP/1.1\r\nHost: 3000--try.localhost\r\n\r\n":                   421,
		"GET http://3000--try.localhost/ HTTP/1.1\r\nHost: evil.example\r\n\r\n":                   200,
		"CONNECT " + canary.Addr().String() + " HTTP/1.1\r\nHost: 3000--try.localhost\r\n\r\n":     421,
		"CONNECT 3000--try.localhost:80 HTTP/1.1\r\nHost: 3000--try.localhost\r\n\r\n":             405,
		"GET / HTTP/1.0\r\n\r\n": 421,
		"GET / HTTP/1.1\r\n\r\n": 400,
		"GET / HTTP/1.1\r\nHost: evil\r\nHost: 3000--try.localhost\r\n\r\n":                   400,
		"GET //" + canary.Addr().String() + "/ HTTP/1.1\r\nHost: 3000--try.localhost\r\n\r\n": 200,
		"OPTIONS * HTTP/1.1\r\nHost: 3000--try.localhost\r\n\r\n":                             200,
	} {
		if status, body := raw(t, i, request); status != want {
			t.Errorf("%q gave %d, not %d: %q", request, status, want, body)
		}
	}
	canary.Close()
	select {
	case <-heard:
		t.Error("something was dialled that is not the box")
	default:
	}
}

func TestNobodyListensIsSaid(t *testing.T) {
	i := newIngress(t, Config{})
	for _, dial := range []Dial{
		nobody(t),
		failing(forkbox.Errorf(forkbox.Unavailable, "connect to the box", "connection refused")),
	} {
		u := openURL(t, i, try, 3000, dial)
		status, body := fetch(t, visitorOf(t), get(t, u.String()))
		if status != http.StatusBadGateway || !strings.Contains(body, "nothing listens on port 3000 of box try") || !strings.Contains(body, "forkbox wait try --port 3000") {
			t.Errorf("got %d %q", status, body)
		}
	}
}

func failing(err error) Dial {
	return func(context.Context, int) (net.Conn, error) { return nil, err }
}

// Why the daemon cannot reach a box is nothing for the visitor of a URL.
func TestBoxThatCannotBeReached(t *testing.T) {
	i := newIngress(t, Config{})
	u := openURL(t, i, try, 3000, failing(forkbox.Errorf(forkbox.Busy, "dial in the box", "/internal/path is broken")))
	if status, body := fetch(t, visitorOf(t), get(t, u.String())); status != http.StatusBadGateway || !strings.Contains(body, "cannot be reached") || strings.Contains(body, "internal") {
		t.Errorf("got %d %q", status, body)
	}
}

func TestNotHTTPIsSaid(t *testing.T) {
	i := newIngress(t, Config{})
	s := serving(t, func(c *net.TCPConn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n") })
	u := openURL(t, i, try, 22, s.dial)
	if status, body := fetch(t, visitorOf(t), get(t, u.String())); status != http.StatusBadGateway || !strings.Contains(body, "forkbox port try 22") {
		t.Errorf("got %d %q", status, body)
	}
}

func TestURLOfAClosedBox(t *testing.T) {
	s := web(t, says("hello"))
	i := newIngress(t, Config{})
	client := visitorOf(t)
	u := openURL(t, i, try, 3000, s.dial)
	if status, _ := fetch(t, client, get(t, u.String())); status != 200 {
		t.Fatal(status)
	}
	i.Close(try.ID)
	status, body := fetch(t, client, get(t, u.String()))
	if status != 404 || !strings.Contains(body, "forkbox open try 3000") {
		t.Errorf("got %d %q", status, body)
	}
	// While it rests no other box gets its visitors; itself it gets them back,
	// also when it was made again.
	other := openURL(t, i, aBox("222222222222", "try", 1001), 3000, s.dial)
	again := openURL(t, i, aBox("333333333333", "try", 1000), 3000, s.dial)
	if other.Host == u.Host || again.Host != u.Host {
		t.Errorf("%s went to %s, and came back as %s", u.Host, other.Host, again.Host)
	}
	if status, _ := fetch(t, client, get(t, again.String())); status != 200 {
		t.Error(status)
	}
}

// A box that takes the place of one that was never closed keeps it when that
// one is closed late.
func TestLateCloseOfAnOldBox(t *testing.T) {
	i := newIngress(t, Config{})
	openURL(t, i, try, 3000, nobody(t))
	u := openURL(t, i, aBox("333333333333", "try", 1000), 3000, web(t, says("new")).dial)
	i.Close(try.ID)
	if status, body := fetch(t, visitorOf(t), get(t, u.String())); status != 200 || body != "new" {
		t.Errorf("got %d %q", status, body)
	}
}

// Requests that the box has not answered yet end when it is closed.
func TestCloseEndsRequests(t *testing.T) {
	asked := make(chan struct{})
	i := newIngress(t, Config{})
	u := openURL(t, i, try, 3000, web(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})).dial)
	done := make(chan int)
	go func() {
		status, _ := fetch(t, visitorOf(t), get(t, u.String()))
		done <- status
	}()
	<-asked
	i.Close(try.ID)
	if status := <-done; status != http.StatusBadGateway {
		t.Errorf("the request ended with %d", status)
	}
}

func TestRequestsOfOneBoxAreBounded(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{}, 2)
	i := newIngress(t, Config{Connections: 8}) // two for the box, four for the router
	s := web(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	}))
	u := openURL(t, i, try, 3000, s.dial)
	done := make(chan int)
	for range 2 {
		go func() {
			status, _ := fetch(t, visitorOf(t), get(t, u.String()))
			done <- status
		}()
		<-asked
	}
	if status, body := fetch(t, visitorOf(t), get(t, u.String())); status != http.StatusServiceUnavailable {
		t.Errorf("the third got %d %q", status, body)
	}
	close(release)
	if a, b := <-done, <-done; a != 200 || b != 200 {
		t.Error(a, b)
	}
}

func TestVisitorsOfTheRouterAreBounded(t *testing.T) {
	i := newIngress(t, Config{Connections: 4}) // two for the router
	openURL(t, i, try, 3000, nobody(t))
	for range 2 {
		fmt.Fprint(connect(t, "127.0.0.1", i.router.port), "GET / HT")
	}
	eventually(t, "both to be in", func() bool { return i.router.room.open.Load() == 2 })
	wantRefused(t, i.router.port)
}

func TestDialThatComesTooLate(t *testing.T) {
	s := web(t, says("too late"))
	dialling, go_ := make(chan struct{}), make(chan struct{})
	i := newIngress(t, Config{})
	u := openURL(t, i, try, 3000, func(context.Context, int) (net.Conn, error) {
		close(dialling)
		<-go_
		return s.dial(context.Background(), 0)
	})
	done := make(chan int)
	go func() {
		status, _ := fetch(t, visitorOf(t), get(t, u.String()))
		done <- status
	}()
	<-dialling
	i.Close(try.ID)
	close(go_)
	if status := <-done; status != http.StatusBadGateway {
		t.Errorf("the request ended with %d", status)
	}
}

func TestWhereURLsAreServed(t *testing.T) {
	for _, bad := range []string{"0.0.0.0:0", "203.0.113.1:80", ":80", "localhost", "[::]:0", "127.0.0.1", "example.com:80"} {
		_, err := newIngress(t, Config{URLs: bad}).URL(try, 3000, nobody(t))
		wantCode(t, err, forkbox.Invalid)
	}
	l := listening(t)
	_, err := newIngress(t, Config{URLs: l.Addr().String()}).URL(try, 3000, nobody(t))
	wantCode(t, err, forkbox.Exists)
}

// Two daemons of one machine both have URLs.
func TestDefaultPortOfURLsMayBeTaken(t *testing.T) {
	one, two := New(Config{UID: 1000}), New(Config{UID: 1000})
	defer one.Shutdown()
	defer two.Shutdown()
	first := openURL(t, one, try, 3000, web(t, says("one")).dial)
	second := openURL(t, two, try, 3000, web(t, says("two")).dial)
	client := visitorOf(t)
	_, a := fetch(t, client, get(t, first.String()))
	_, b := fetch(t, client, get(t, second.String()))
	if a != "one" || b != "two" || first.Port() == second.Port() {
		t.Errorf("%s says %q, %s says %q", first, a, second, b)
	}
}
