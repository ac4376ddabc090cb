package intercept

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/websocket"
)

// everywhere runs a test with each way in and each kind of server.
func everywhere(t *testing.T, handler http.HandlerFunc, test func(w *world, h2 bool)) {
	for _, c := range []struct {
		name string
		setup
		h2 bool
	}{
		{name: "http1", setup: setup{plain: true}},
		{name: "https1", setup: setup{}},
		{name: "https1-to-http1", setup: setup{h1: true}},
		{name: "https2", h2: true},
		{name: "https2-to-http1", setup: setup{h1: true}, h2: true},
	} {
		t.Run(c.name, func(t *testing.T) { test(newWorld(t, c.setup, handler), c.h2) })
		// The same with a secret for the host, which has the answer looked through.
		c.secrets = bound(testHost)
		t.Run(c.name+"-scanned", func(t *testing.T) { test(newWorld(t, c.setup, handler), c.h2) })
	}
}

func TestARequestIsAsTheProgramMeantIt(t *testing.T) {
	var seen *http.Request
	handler := func(w http.ResponseWriter, r *http.Request) {
		seen = r
		w.Header().Add("X-Two", "1")
		w.Header().Add("X-Two", "2")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "short and stout")
	}
	everywhere(t, handler, func(w *world, h2 bool) {
		headers := []string{"User-Agent", "", "X-Forwarded-For", "mine"}
		if !h2 { // which has no such headers
			headers = append(headers, "Connection", "X-Hop", "X-Hop", "1")
		}
		answer, body := w.get(h2, "/a%2Fb//c;d?q=%zz;x&y", headers...)
		want(t, "status", answer.StatusCode, http.StatusTeapot)
		want(t, "body", body, "short and stout")
		want(t, "header", strings.Join(answer.Header["X-Two"], ","), "1,2")
		want(t, "path", seen.RequestURI, "/a%2Fb//c;d?q=%zz;x&y")
		want(t, "host", seen.Host, fmt.Sprintf("%s:%d", testHost, w.port()))
		want(t, "forwarded", seen.Header.Get("X-Forwarded-For"), "mine")
		for _, name := range []string{"Via", "User-Agent", "Forwarded", "X-Forwarded-Host", "X-Hop"} {
			if value, there := seen.Header[name]; there {
				t.Errorf("the server got %s: %q", name, value)
			}
		}
		want(t, "judged path", w.targets[0].Path, "/a%2Fb//c;d")
		want(t, "recorded status", w.records()[0].Status, http.StatusTeapot)
	})
}

func TestBodiesAndTrailersGoBothWays(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // else it throws some of the body away
		w.Header().Set("Trailer", "X-After")
		n, err := io.Copy(w, r.Body)
		w.Header().Set("X-After", fmt.Sprintf("%d %v %s", n, err, r.Trailer.Get("X-Sent-After")))
		w.Header().Set(http.TrailerPrefix+"X-Unannounced", "too")
	}
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<17)
	everywhere(t, handler, func(w *world, h2 bool) {
		r, err := http.NewRequest("POST", w.url("/"), io.MultiReader(bytes.NewReader(content))) // of unknown length
		must(t, err)
		r.Trailer = http.Header{"X-Sent-After": {"all of it"}}
		answer, body := w.do(h2, r)
		if body != string(content) {
			t.Errorf("%d bytes became %d", len(content), len(body))
		}
		want(t, "trailer", answer.Trailer.Get("X-After"), fmt.Sprintf("%d <nil> all of it", len(content)))
		want(t, "unannounced trailer", answer.Trailer.Get("X-Unannounced"), "too")
	})
}

// What the server has written is there before it writes more, and the same with
// what the client writes: neither waits for the other's end. This is how gRPC
// talks, and how events arrive.
func TestStreamsAreNotHeldBack(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		lines := bufio.NewScanner(r.Body)
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		for lines.Scan() {
			fmt.Fprintf(w, "got %s\n", lines.Text())
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("Grpc-Status", "0")
	}
	everywhere(t, handler, func(w *world, h2 bool) {
		reader, writer := io.Pipe()
		r, err := http.NewRequest("POST", w.url("/service/Method"), reader)
		must(t, err)
		r.Header.Set("Te", "trailers")
		go func() { _, _ = io.WriteString(writer, "zero\n") }()
		answer, err := w.client(h2).Do(r)
		must(t, err)
		defer answer.Body.Close()
		lines := bufio.NewReader(answer.Body)
		for _, word := range []string{"zero", "one", "two"} {
			if word != "zero" {
				_, _ = io.WriteString(writer, word+"\n")
			}
			line, err := lines.ReadString('\n')
			must(t, err)
			want(t, "line", line, "got "+word+"\n")
		}
		_ = writer.Close()
		_, err = io.ReadAll(lines)
		must(t, err)
		want(t, "trailer", answer.Trailer.Get("Grpc-Status"), "0")
	})
}

func TestHeadHasNoBodyAndKeepsItsLength(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Length", "1234") }
	everywhere(t, handler, func(w *world, h2 bool) {
		r, err := http.NewRequest("HEAD", w.url("/"), nil)
		must(t, err)
		answer, body := w.do(h2, r)
		want(t, "length", answer.ContentLength, int64(1234))
		want(t, "body", body, "")
	})
}

func TestEmptyAnswers(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(len(r.URL.Path) - 1) }
	everywhere(t, handler, func(w *world, h2 bool) {
		for _, status := range []int{200, 204, 304} {
			answer, body := w.get(h2, "/"+strings.Repeat("x", status))
			want(t, "status", answer.StatusCode, status)
			want(t, "body", body, "")
		}
	})
}

// A redirect is the client's to follow: where it leads is judged then.
func TestRedirectsArePassedOn(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example.net/", http.StatusFound)
	}
	everywhere(t, handler, func(w *world, h2 bool) {
		answer, _ := w.get(h2, "/")
		want(t, "status", answer.StatusCode, http.StatusFound)
		want(t, "location", answer.Header.Get("Location"), "https://elsewhere.example.net/")
	})
}

func TestManyRequestsOnOneConnection(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s\n", r.Method, r.URL.Path, body)
	}
	w := newWorld(t, setup{}, handler)
	answers := w.say("GET /1 HTTP/1.1\r\nHost: HOST\r\n\r\n" +
		"POST /2 HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\n\r\nabc\r\n" + // an old client's line break after it
		"POST /3 HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\nX: y\r\n\r\n" +
		"GET /4 HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n")
	wantIn(t, answers, "GET /1 \n", "POST /2 abc\n", "POST /3 def\n", "GET /4 \n")
	want(t, "answers", strings.Count(answers, "200 OK"), 4)
}

// The client waits for a go-ahead, and sends its body when the server wants it.
func TestExpectContinue(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}
	w := newWorld(t, setup{}, handler)
	conn := w.raw()
	fmt.Fprintf(conn, "POST /yes HTTP/1.1\r\nHost: %s:%d\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n", testHost, w.port())
	lines := bufio.NewReader(conn)
	line, err := lines.ReadString('\n')
	must(t, err)
	wantIn(t, line, "100 Continue")
	fmt.Fprint(conn, "hello")
	rest, _ := io.ReadAll(lines)
	wantIn(t, string(rest), "200 OK", "hello")

	wantIn(t, w.say("POST /no HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"), "401 Unauthorized")
}

func TestEarlyHints(t *testing.T) {
	w := newWorld(t, setup{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		fmt.Fprint(w, "page")
	})
	wantIn(t, w.say("GET / HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n"), "103 Early Hints\r\nLink: </style.css>", "200 OK", "page")
}

func echoMessages(ws *websocket.Conn) {
	var text string
	for websocket.Message.Receive(ws, &text) == nil {
		_ = websocket.Message.Send(ws, text)
	}
}

func TestWebSocket(t *testing.T) {
	for _, plain := range []bool{true, false} {
		for _, secrets := range [][]Secret{nil, bound(testHost)} {
			w := newWorld(t, setup{plain: plain, secrets: secrets}, func(w http.ResponseWriter, r *http.Request) {
				websocket.Server{Handler: echoMessages}.ServeHTTP(w, r)
			})
			config, err := websocket.NewConfig(strings.Replace(w.url("/socket"), "http", "ws", 1), "http://origin.example.com/")
			must(t, err)
			ws, err := websocket.NewClient(config, w.raw())
			must(t, err)
			for _, text := range []string{"hello", strings.Repeat("long ", 10000)} {
				var got string
				must(t, websocket.Message.Send(ws, text))
				must(t, websocket.Message.Receive(ws, &got))
				if got != text {
					t.Errorf("%d bytes became %d", len(text), len(got))
				}
			}
			must(t, ws.Close())
		}
	}
}

// A server that says no to a WebSocket ends the connection: what the client sends
// next was not looked at.
func TestNothingFollowsADeclinedWebSocket(t *testing.T) {
	var paths []string
	w := newWorld(t, setup{}, func(w http.ResponseWriter, r *http.Request) { paths = append(paths, r.URL.Path) })
	answers := w.say("GET /socket HTTP/1.1\r\nHost: HOST\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n" +
		"GET /hidden HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n")
	want(t, "answers", strings.Count(answers, "HTTP/1.1 "), 1)
	wantIn(t, answers, "Connection: close")
	if !slices.Equal(paths, []string{"/socket"}) {
		t.Errorf("the server was asked for %q", paths)
	}
}

// HTTP/2 begun by an upgrade would be a conversation that no rule is asked about.
func TestOtherUpgradesAreNotPassedOn(t *testing.T) {
	var upgrade string
	w := newWorld(t, setup{plain: true}, func(w http.ResponseWriter, r *http.Request) {
		upgrade = r.Header.Get("Upgrade") + r.Header.Get("Connection") + r.Header.Get("Http2-Settings")
		fmt.Fprint(w, "plain answer")
	})
	wantIn(t, w.say("GET / HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n"), "plain answer")
	want(t, "what the server got", upgrade, "")
}
