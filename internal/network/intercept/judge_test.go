package intercept

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/forkbox/forkbox"
)

// counted is a server that should not be reached.
func counted(t *testing.T, s setup) (*world, *atomic.Int32) {
	var reached atomic.Int32
	w := newWorld(t, s, func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		fmt.Fprint(w, "reached")
	})
	return w, &reached
}

var onlyRepos = setup{check: func(target forkbox.NetTarget) forkbox.NetVerdict {
	v := forkbox.NetVerdict{Target: target, Why: "no rule allows it", Remedy: "forkbox net allow BOX 'DELETE x'"}
	v.Allowed = target.Method == "GET" && strings.HasPrefix(target.Path, "/repos/")
	if target.Path == "/secret" {
		v.Rule, v.Why = forkbox.NetRule{Rule: "deny api.example.com/secret", From: "project forkbox.yaml"}, "a rule denies it"
	}
	return v
}}

func TestEachRequestIsJudged(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		w, reached := counted(t, onlyRepos)
		_, body := w.get(h2, "/repos/x")
		want(t, "allowed body", body, "reached")

		answer, text := w.get(h2, "/secret")
		want(t, "status", answer.StatusCode, http.StatusForbidden)
		want(t, "kind", answer.Header.Get("Content-Type"), "text/plain; charset=utf-8")
		want(t, "mark", answer.Header.Get(OwnAnswer), "refused")
		wantIn(t, text, "cannot GET api.example.com:", "/secret: a rule denies it\n", "rule: deny api.example.com/secret (project forkbox.yaml)\n", "remedy: forkbox net allow")

		answer, text = w.get(h2, "/other", "Accept", "application/json")
		want(t, "kind", answer.Header.Get("Content-Type"), "application/json")
		var p page
		must(t, json.Unmarshal([]byte(text), &p))
		want(t, "code", p.Code, forkbox.Denied)
		want(t, "remedy", p.Remedy, "forkbox net allow BOX 'DELETE x'")

		want(t, "requests that came through", reached.Load(), int32(1))
		told := w.told()
		want(t, "refused requests", len(told), 2)
		want(t, "refused path", told[0].Target.Path, "/secret")
		want(t, "refused method", told[0].Target.Method, "GET")
		want(t, "refused port", told[0].Target.Port, w.port())
		want(t, "refused address", told[0].Target.Addr, w.meta.Addr.Addr())
	}
}

// The second request on a connection is judged as the first one was.
func TestKeepAliveDoesNotCarryPermission(t *testing.T) {
	w, reached := counted(t, onlyRepos)
	answers := w.say("GET /repos/x HTTP/1.1\r\nHost: HOST\r\n\r\nDELETE /repos/x HTTP/1.1\r\nHost: HOST\r\n\r\n" +
		"GET /repos/y HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n")
	want(t, "allowed", strings.Count(answers, "200 OK"), 2)
	want(t, "refused", strings.Count(answers, "403 Forbidden"), 1)
	want(t, "requests that came through", reached.Load(), int32(2))
}

func TestRequestsForAnotherHost(t *testing.T) {
	w, reached := counted(t, setup{})
	const end = "\r\nConnection: close\r\n\r\n"
	for _, head := range []string{
		"GET / HTTP/1.1\r\nHost: evil.example.net", "GET / HTTP/1.1\r\nHost: api.example.com", // port 443 is not where it goes
		"GET / HTTP/1.1\r\nHost: api.example.com:1", "GET / HTTP/1.1\r\nHost: api.example.com.evil.example.net",
		"GET / HTTP/1.1\r\nHost: user@HOST", "GET / HTTP/1.1\r\nHost: 203.0.113.7", "GET / HTTP/1.1\r\nHost: HOST,evil.example.net",
		"GET https://evil.example.net/ HTTP/1.1\r\nHost: evil.example.net", "GET http://HOST/ HTTP/1.1\r\nHost: HOST",
	} {
		before := len(w.told())
		answer := w.say(head + end)
		if !strings.Contains(answer, "421 Misdirected Request") && !strings.Contains(answer, "400 Bad Request") {
			t.Errorf("%q got %q", head, answer)
		}
		if strings.Contains(answer, "421") {
			wantIn(t, answer, "forkbox: cannot GET")
			want(t, "refused requests", len(w.told()), before+1)
		}
	}
	want(t, "requests that came through", reached.Load(), int32(0))
	for _, head := range []string{"GET / HTTP/1.1\r\nHost: HOST", "GET https://HOST/ HTTP/1.1\r\nHost: HOST", "GET / HTTP/1.1\r\nHost: API.Example.com.:" + fmt.Sprint(w.port())} {
		wantIn(t, w.say(head+end), "200 OK", "reached")
	}
}

func TestAuthorityOfHTTP2(t *testing.T) {
	w, reached := counted(t, setup{})
	r, err := http.NewRequest("GET", w.url("/"), nil)
	must(t, err)
	r.Host = "evil.example.net"
	answer, body := w.do(true, r)
	want(t, "status", answer.StatusCode, http.StatusMisdirectedRequest)
	wantIn(t, body, "evil.example.net")
	want(t, "requests that came through", reached.Load(), int32(0))
}

// Shapes that two servers can understand differently, and other protocols.
func TestUnclearRequests(t *testing.T) {
	for _, plain := range []bool{true, false} {
		w, reached := counted(t, setup{plain: plain})
		const post = "POST / HTTP/1.1\r\nHost: HOST\r\n"
		for text, why := range map[string]string{
			post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello":                        "more than one Content-Length",
			post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!":                       "more than one Content-Length",
			post + "Content-Length: 5, 5\r\n\r\nhello":                                          "no number",
			post + "Content-Length: +5\r\n\r\nhello":                                            "no number",
			post + "Content-Length: \r\n\r\n":                                                   "no number",
			post + "Content-Length: -1\r\n\r\n":                                                 "no number",
			post + "Content-Length: 99999999999999999999\r\n\r\n":                               "no number",
			post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET /x":     "both",
			post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n": "not just chunked",
			post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n":                               "not just chunked",
			post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n":                          "not just chunked",
			post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n":                               "no header field",
			post + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n":                            "continues",
			post + "Transfer-Encoding: chunked\nX: y\r\n\r\n0\r\n\r\n":                          "CR LF",
			post + "X: a\rContent-Length: 5\r\n\r\n":                                            "control character",
			post + "Host: evil.example.net\r\n\r\n":                                             "more than one Host",
			"POST / HTTP/1.0\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":      "HTTP/1.0",
			"GET https://HOST/ HTTP/1.1\r\nHost: evil.example.net\r\n\r\n":                      "different hosts",
			"GET https://evil.example.net/ HTTP/1.1\r\nHost: HOST\r\n\r\n":                      "different hosts",
			"GET / HTTP/1.1\nHost: HOST\n\n":                                                    "CR LF",
			"GET / HTTP/9.9\r\nHost: HOST\r\n\r\n":                                              "version",
			"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                                  "version",
			"SSH-2.0-OpenSSH_9.9\r\n":                                                           "not HTTP",
			"\x00\x01\x02\x03":                                                                  "not HTTP",
			"GET /\r\n":                                                                         "not HTTP",
			"GET /a b HTTP/1.1\r\nHost: HOST\r\n\r\n":                                           "not HTTP",
		} {
			before := len(w.told())
			answer := w.say(text)
			wantIn(t, answer, "HTTP/1.1 400 Bad Request", "the request is not clear: ", why, "Connection: close")
			want(t, "answers to "+text, strings.Count(answer, "HTTP/1.1 "), 1)
			want(t, "refused requests after "+text, len(w.told()), before+1)
		}
		want(t, "requests that came through", reached.Load(), int32(0))
	}
}

// A body that is cut or framed badly does not reach the server as a whole one.
func TestUnclearChunks(t *testing.T) {
	var whole atomic.Int32
	w := newWorld(t, setup{}, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			whole.Add(1)
		}
	})
	for _, chunks := range []string{"5;x=y\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n", "5\nhello\r\n0\r\n\r\n",
		"5\r\nhelloX0\r\n\r\n", "ffffffffffffffffff\r\nhello", "-5\r\nhello\r\n0\r\n\r\n", strings.Repeat("0", 9000) + "5\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\nX: y\n\r\n"} {
		w.say("POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
		want(t, fmt.Sprintf("whole bodies after %.40q", chunks), whole.Load(), int32(0))
	}
}

func TestConnectIsRefused(t *testing.T) {
	w, reached := counted(t, setup{plain: true})
	wantIn(t, w.say("CONNECT HOST HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n"), "405 Method Not Allowed", "CONNECT")
	want(t, "requests that came through", reached.Load(), int32(0))
	want(t, "refused requests", len(w.told()), 1)
}

func TestOptionsOfTheWholeServerIsJudged(t *testing.T) {
	w, _ := counted(t, onlyRepos)
	wantIn(t, w.say("OPTIONS * HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n"), "403 Forbidden")
}

// By raw address there is no name to agree with: the address is fine, and of a
// name the rules are asked.
func TestConnectionsByAddress(t *testing.T) {
	w, _ := counted(t, setup{plain: true, nameless: true})
	for host, name := range map[string]string{fmt.Sprintf("203.0.113.7:%d", w.port()): "", fmt.Sprintf("Inner.example.com:%d", w.port()): "inner.example.com"} {
		before := len(w.targets)
		wantIn(t, w.say("GET / HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n"), "200 OK")
		want(t, "judged host", w.targets[before].Host, name)
	}
	want(t, "an IPv6 address", isAddr("2001:db8::1", netip.MustParseAddr("2001:db8:0::1")), true)
}

func TestTLSForAnotherName(t *testing.T) {
	w, _ := counted(t, setup{})
	for _, name := range []string{"evil.example.net", "sub.api.example.com"} {
		conn, err := net.Dial("tcp", w.listener.Addr().String())
		must(t, err)
		if tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake() == nil {
			t.Errorf("there is a certificate for %s", name)
		}
		conn.Close()
		told := w.told()
		want(t, "refused host", told[len(told)-1].Target.Host, name)
	}
	conn, err := net.Dial("tcp", w.listener.Addr().String())
	must(t, err)
	defer conn.Close()
	if tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).Handshake() == nil {
		t.Error("there is a certificate for no name")
	}
}

func TestNoTLSWhereItIsExpected(t *testing.T) {
	w, _ := counted(t, setup{})
	conn, err := net.Dial("tcp", w.listener.Addr().String())
	must(t, err)
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
	answer, _ := io.ReadAll(conn)
	wantIn(t, string(answer), "400 Bad Request", "this is not TLS")
}

func TestEndedInterceptorTakesNothing(t *testing.T) {
	w, _ := counted(t, setup{})
	must(t, w.i.Close())
	ours, theirs := net.Pipe()
	w.i.Serve(theirs, w.meta)
	if _, err := ours.Write([]byte("x")); err == nil {
		t.Error("it is still read")
	}
}

// What the filter hands on and what net/http reads is the same: whatever comes,
// each request that reaches the handler is one that was looked at.
func FuzzHeads(f *testing.F) {
	for _, text := range []string{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nraw", "\r\n\r\nGET / HTTP/1.0\r\n\r\n"} {
		f.Add([]byte(text), uint8(3))
	}
	ca, _ := madeCA(f, "box")
	i, err := New(Config{CA: ca, Check: func(t forkbox.NetTarget) forkbox.NetVerdict { return forkbox.NetVerdict{Allowed: true} }})
	must(f, err)
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		whole, h := readAllOf(i, bytes.NewReader(data), 4096)
		parts, _ := readAllOf(i, &halting{data: data, step: int(cut)%7 + 1}, int(cut)%5+1)
		if whole != parts {
			t.Fatalf("cut otherwise, %q became %q instead of %q", data, parts, whole)
		}
		sameRequests(t, whole, h)
	})
}

// sameRequests reads what was handed on as net/http does: each request must be
// the one that was looked at.
func sameRequests(t *testing.T, handed string, h *heads) {
	from := bufio.NewReader(strings.NewReader(handed))
	for {
		r, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		s := h.next()
		if s.bad == "the request was not looked at" {
			t.Fatalf("in %q the gate did not look at %s %s", handed, r.Method, r.RequestURI)
		}
		if s.bad == "" && (r.Method != s.method || r.RequestURI != s.target || s.chunked != (r.ContentLength < 0) || !s.chunked && r.ContentLength != s.length) {
			t.Fatalf("%+v was taken for %+v", r, s)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil || s.bad != "" || s.upgrade {
			return
		}
		if r.Method == "POST" { // the server passes over line breaks after one
			for next, _ := from.Peek(1); len(next) > 0 && (next[0] == '\r' || next[0] == '\n'); next, _ = from.Peek(1) {
				_, _ = from.Discard(1)
			}
		}
	}
}

// readAllOf is all that a connection hands on.
func readAllOf(i *Interceptor, from io.Reader, buffer int) (string, *heads) {
	c := newClient(i, readerConn{from: from}, Meta{Dial: func(context.Context) (net.Conn, error) { return nil, io.EOF }})
	h := newHeads(c, c)
	var all bytes.Buffer
	p := make([]byte, buffer)
	for {
		n, err := h.Read(p)
		all.Write(p[:n])
		if err == errHalt {
			continue
		}
		if err != nil {
			return all.String(), h
		}
	}
}

type readerConn struct {
	net.Conn
	from io.Reader
}

func (c readerConn) Read(p []byte) (int, error) { return c.from.Read(p) }

// halting is interrupted all the time, as by a deadline that passes.
type halting struct {
	data []byte
	step int
	halt bool
}

var errHalt = fmt.Errorf("halt")

func (h *halting) Read(p []byte) (int, error) {
	if h.halt = !h.halt; h.halt {
		return 0, errHalt
	}
	if len(h.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, h.data[:min(h.step, len(h.data))])
	h.data = h.data[n:]
	return n, nil
}
