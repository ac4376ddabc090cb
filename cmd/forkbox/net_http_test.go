//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestPromise8FrontingTerminated: where TLS ends at the gate, what is within it
// is judged as well. (Elsewhere only the server and the client can see it.)
func TestPromise8FrontingTerminated(t *testing.T) {
	t.Parallel()
	f := newFronted(t)
	f.box = f.makeBox("seen", "--allow", f.good, "--terminate", f.good)
	for _, proto := range []string{"--http1.1", "--http2"} {
		out := f.failsIn(f.box, sh(`curl -sS --fail-with-body `+proto+` -H "Host: $2" https://$1/`, f.good, f.evil)...)
		if !strings.Contains(out, f.evil) {
			t.Errorf("it does not say why: %s", out)
		}
	}
	f.unheard()
	f.recorded(f.box, want{state: forkbox.ConnRefused, host: f.evil, port: 443})
	if out := f.works(f.box, sh(`curl -sSf https://$1/`, f.good)...); !strings.Contains(out, "hello from "+f.good) {
		t.Errorf("the host itself: %s", out)
	}
}

// TestPromise8WrongCertificate: a server that cannot prove its name gets no
// request through the gate.
func TestPromise8WrongCertificate(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	liar := w.name("liar")
	box := w.makeBox("careful", "--allow", liar, "--terminate", liar)
	out := w.failsIn(box, sh(`curl -sS --fail-with-body https://$1/`, liar)...)
	if !strings.Contains(out, "502") || !strings.Contains(out, "certificate") {
		t.Errorf("it does not say what is wrong: %s", out)
	}
	if got := w.got(liar); len(got) > 0 {
		t.Errorf("the server got %+v", got)
	}
}

// TestNetHTTPRules: methods and paths, also in disguise.
func TestNetHTTPRules(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	api := w.name("api")
	flags := []string{"--deny", api + "/admin/**", "--allow", "GET,HEAD " + api + "/repos/**", "--allow", "POST " + api + "/reflect"}
	box := w.makeBox("reader", flags...)
	for _, line := range []string{"GET /repos/a", "HEAD /repos/a/b", "POST /reflect"} {
		method, path, _ := strings.Cut(line, " ")
		flag := map[string]string{"HEAD": "-I"}[method]
		w.works(box, sh(`curl -sSf `+flag+` -X $1 "https://$2$3"`, method, api, path)...)
	}
	for i, line := range []string{
		"POST /repos/a", "DELETE /repos/a", "GET /other", "GET /repos/../admin/x", "GET /repos/%2e%2e/other", "GET /repos/..%2fother",
		"GET //other", "GET /repos/a/..;/..;/other", "GET /repos%2f..%2fother", `GET /repos/a\..\..\other`,
	} {
		t.Run(line, func(t *testing.T) {
			w := w.as(t)
			box := w.makeBox(fmt.Sprint("reader", i), flags...)
			method, path, _ := strings.Cut(line, " ")
			out := w.failsIn(box, sh(`curl -sS --fail-with-body --path-as-is -X $1 "https://$2$3"`, method, api, path)...)
			for _, word := range []string{"403", "forkbox net allow " + box} {
				if !strings.Contains(out, word) {
					t.Errorf("the refusal does not say %q: %s", word, out)
				}
			}
			w.recorded(box, want{state: forkbox.ConnRefused, host: api, port: 443, method: method})
		})
	}
	for _, r := range w.got(api) {
		if !strings.HasPrefix(r.URI, "/repos/a") && r.URI != "/reflect" {
			t.Errorf("the server got %s %s", r.Method, r.URI)
		}
	}
}
