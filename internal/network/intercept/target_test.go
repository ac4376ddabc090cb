package intercept

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// noting is a server that remembers what it was asked for.
type noting struct {
	lock sync.Mutex
	seen []string
}

func (n *noting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.seen = append(n.seen, fmt.Sprintf("%s %s %s %s", r.Method, r.RequestURI, r.Host, r.Header.Get("Authorization")))
	_, _ = io.WriteString(w, "reached")
}

// A target that is neither a path nor a URL is judged as one thing and read by
// servers as another.
func TestTargetsThatAreReadInTwoWays(t *testing.T) {
	for _, plain := range []bool{true, false} {
		var server noting
		w := newWorld(t, setup{plain: plain, secrets: bound(testHost)}, server.ServeHTTP)
		for _, target := range []string{"https:https://HOST/admin", "http:http://HOST/admin", "https:admin", "http:/admin", "https:/admin", "x:y", "https:///admin", "*"} {
			answer := w.say("GET " + target + " HTTP/1.1\r\nHost: HOST\r\nAuthorization: " + placeholder + "\r\nConnection: close\r\n\r\n")
			wantIn(t, answer, "400 Bad Request")
		}
		want(t, "what the server was asked for", len(server.seen), 0)
		want(t, "what was judged", len(w.targets), 0)
		want(t, "refused requests", len(w.told()), 8)
	}
}

// Over HTTP/2 a path is a path: nothing else names a host beside :authority,
// and no secret goes to another host than it is bound to.
func TestPathsOfHTTP2(t *testing.T) {
	for _, h1 := range []bool{true, false} {
		var server noting
		w := newWorld(t, setup{h1: h1, secrets: bound(testHost)}, server.ServeHTTP)
		f := w.raw2(1 << 16)
		for _, path := range []string{"https:http://other.example.net/steal", "https://other.example.net/steal", "https:/x", "*"} {
			want(t, path, f.status(f.ask("GET", path, "authorization", placeholder)), http.StatusBadRequest)
			f = w.raw2(1 << 16)
		}
		want(t, "what the server was asked for", strings.Join(server.seen, "; "), "")
		want(t, "status", f.status(f.ask("GET", "//x?y")), http.StatusOK)
		want(t, "status", f.status(f.ask("OPTIONS", "*")), http.StatusOK)
		if !slices.ContainsFunc(server.seen, func(s string) bool { return strings.HasPrefix(s, "GET //x?y ") }) {
			t.Errorf("the server was asked for %q", server.seen)
		}
	}
}

// What the server is asked for is the very path that was judged.
func TestThePathThatWasJudgedIsSent(t *testing.T) {
	var server noting
	w := newWorld(t, setup{plain: true}, server.ServeHTTP)
	for _, target := range []string{"/", "//x/y", "/a%2fb", "/a#b", "/a;b:c", "/%zz", "/ä", "http://HOST", "http://HOST/x?y", "HTTP://HOST/x", "/http://other.example.net/"} {
		before := len(server.seen)
		answer := w.say("GET " + target + " HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n")
		if strings.Contains(answer, "400 Bad Request") && len(server.seen) == before {
			continue
		}
		sent, _, _ := strings.Cut(strings.Fields(server.seen[before])[1], "?")
		want(t, target, sent, w.targets[len(w.targets)-1].Path)
	}
	want(t, "requests that came through", len(server.seen), 10)
}
