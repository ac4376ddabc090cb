//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// fronted is two names on one address, of which a box may reach the first.
type fronted struct {
	*netWorld
	box, good, evil string
}

func newFronted(t *testing.T, flags ...string) fronted {
	w := newNetWorld(t)
	f := fronted{netWorld: w, good: w.name("good"), evil: w.name("evil")}
	f.box = w.makeBox("prisoner", append([]string{"--allow", f.good}, flags...)...)
	w.works(f.box, w.inside("lookup", f.good)...)
	return f
}

// alone is the same for a test within the test, with a box of its own: what is
// on record there is no other test's doing.
func (f fronted) alone(t *testing.T, number int) fronted {
	f.netWorld = f.as(t)
	f.box = f.makeBox(fmt.Sprint("prisoner", number), "--allow", f.good)
	return f
}

// unheard says that no web server got a request for the other name.
func (f fronted) unheard() {
	f.Helper()
	if got := f.got(f.evil); len(got) > 0 {
		f.Errorf("the world got %+v", got)
	}
	for _, r := range f.got(f.Server4) {
		if r.URI == "/smuggled" || r.URI == "/second" || r.URI == "/none" {
			f.Errorf("the world got %+v", r)
		}
	}
}

// TestPromise8Fronting speaks to an address that is allowed as another name than
// the one that is: on servers of many names that would be a way to all of them.
func TestPromise8Fronting(t *testing.T) {
	t.Parallel()
	f := newFronted(t)
	raw := func(text string) []string { return f.inside("say", "tcp", f.good+":80", text) }
	chunked := "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: %s\r\n\r\n"
	lengths := "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\nContent-Length: 60\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: %s\r\n\r\n"
	for i, a := range []struct {
		name string
		argv []string
		port int
	}{
		{"SNI", f.inside("front", f.good+":443", f.evil, f.good), 443},
		{"SNI and Host", sh(`curl -sSfk --connect-to $2:443:$1:443 https://$2/`, f.good, f.evil), 443},
		{"no SNI", sh(`a=$(getent ahostsv4 $1 | awk '{print $1; exit}'); curl -sSfk -H "Host: $2" https://$a/`, f.good, f.evil), 443},
		{"SNI on another port", f.inside("front", f.good+":8443", f.evil, f.evil), 8443},
		{"Host", sh(`curl -sSf -H "Host: $2" http://$1/`, f.good, f.evil), 80},
		{"Host on another port", sh(`curl -sSf -H "Host: $2" http://$1:8080/`, f.good, f.evil), 8080},
		{"Host with a port", sh(`curl -sSf -H "Host: $2:80" http://$1/`, f.good, f.evil), 80},
		{"an absolute target", sh(`curl -sSf --request-target http://$2/ http://$1/`, f.good, f.evil), 80},
		{"the second request", sh(`curl -sSf http://$1/ --next -sSf -H "Host: $2" http://$1/`, f.good, f.evil), 80},
		{"HTTP/2 without TLS", sh(`curl -sSf --http2-prior-knowledge -H "Host: $2" http://$1/`, f.good, f.evil), 80},
		{"an upgrade to HTTP/2", sh(`curl -sSf --http2 -H "Host: $2" http://$1/`, f.good, f.evil), 80},
	} {
		t.Run(a.name, func(t *testing.T) {
			f := f.alone(t, i)
			if out := f.failsIn(f.box, a.argv...); hung.MatchString(out) {
				t.Errorf("it was not refused, only not answered: %s", out)
			}
			f.unheard()
			f.recorded(f.box, want{state: forkbox.ConnRefused, proto: "tcp", port: a.port})
		})
	}
	for name, text := range map[string]string{
		"two Hosts": fmt.Sprintf("GET / HTTP/1.1\r\nHost: %s\r\nHost: %s\r\n\r\n", f.good, f.evil),
		"no Host":   "GET /none HTTP/1.1\r\n\r\n",
		"chunked":   fmt.Sprintf(chunked, f.good, f.evil),
		"lengths":   fmt.Sprintf(lengths, f.good, f.evil),
		"pipelined": fmt.Sprintf("GET / HTTP/1.1\r\nHost: %s\r\n\r\nGET /second HTTP/1.1\r\nHost: %s\r\n\r\n", f.good, f.evil),
		"old":       "GET / HTTP/1.0\r\nHost: " + f.evil + "\r\n\r\n",
		"folded":    fmt.Sprintf("GET / HTTP/1.1\r\nHost: %s\r\n Host: %s\r\n\r\n", f.good, f.evil),
		"blank":     fmt.Sprintf("\r\n\r\nGET / HTTP/1.1\r\nHost: %s\r\n\r\n", f.evil),
		"lower":     fmt.Sprintf("get / HTTP/1.1\r\nHost: %s\r\n\r\n", f.evil),
	} {
		t.Run(name, func(t *testing.T) {
			f := fronted{f.as(t), f.box, f.good, f.evil}
			out, _ := f.in(f.box, raw(text)...)
			if strings.Contains(out, "hello from "+f.evil) {
				t.Errorf("it got %s", out)
			}
			f.unheard()
		})
	}
}

// TestPromise8FrontingSlowly says for whom it is so slowly that the gate does not
// wait for it: what has gone out by then must not be the beginning of something
// else.
func TestPromise8FrontingSlowly(t *testing.T) {
	t.Parallel()
	f := newFronted(t)
	to, secure := f.good+":80", f.good+":443"
	number := 0
	for name, argv := range map[string][]string{
		"the method":       f.inside("dribble", to, "G", "ET / HTTP/1.1\r\nHost: "+f.evil+"\r\nConnection: close\r\n\r\n"),
		"the whole method": f.inside("dribble", to, "GET", " / HTTP/1.1\r\nHost: "+f.evil+"\r\nConnection: close\r\n\r\n"),
		"the first line":   f.inside("dribble", to, "GET / HTTP/1.1\r\n", "Host: "+f.evil+"\r\nConnection: close\r\n\r\n"),
		"the host":         f.inside("dribble", to, "GET / HTTP/1.1\r\nHost: ", f.evil+"\r\nConnection: close\r\n\r\n"),
		"an empty line":    f.inside("dribble", to, "\r\n", "GET / HTTP/1.1\r\nHost: "+f.evil+"\r\nConnection: close\r\n\r\n"),
		"TLS":              f.inside("dribble", secure, "tls", f.evil),
		"by the way":       f.inside("dribble", to, "X", " / HTTP/1.1\r\nHost: "+f.evil+"\r\nConnection: close\r\n\r\n"),
	} {
		number++
		f := f.alone(t, number)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fronted{f.as(t), f.box, f.good, f.evil}
			out, _ := f.in(f.box, argv...)
			if strings.Contains(out, "hello from") || strings.Contains(out, "shaken hands") {
				t.Errorf("it got %s", out)
			}
			f.unheard()
			f.recorded(f.box, want{state: forkbox.ConnRefused, proto: "tcp"})
		})
	}
	t.Run("an honest one", func(t *testing.T) {
		t.Parallel()
		out := f.as(t).works(f.box, f.inside("dribble", to, "GET / HTTP/1.1\r\n", "Host: "+f.good+"\r\nConnection: close\r\n\r\n")...)
		if !strings.Contains(out, "hello from "+f.good) {
			t.Errorf("it got %s", out)
		}
	})
}
