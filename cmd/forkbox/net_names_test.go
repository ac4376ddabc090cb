//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestPromise8NamesDoNotLie has names that are allowed stand for addresses that
// are not to be reached: the host's, private ones, the metadata service's.
func TestPromise8NamesDoNotLie(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	box := w.makeBox("prisoner", "--allow", "*."+w.domain)
	w.onHost(t, func() { w.listens("tcp", "0.0.0.0:7999") })
	for short, addr := range map[string]string{
		"zero": "0.0.0.0", "loopback": "127.0.0.1", "high-loopback": "127.9.9.9", "loopback6": "::1", "mapped": "::ffff:127.0.0.1",
		"own": hostAddr4, "own6": hostAddr6, "private": w.Private, "metadata": metadata, "link": "fe80::1", "unique": "fd00::1",
		"nat64": "64:ff9b::a4d:1", "6to4": "2002:a4d:1::1", "metadata2": "169.254.170.2", "multicast": "224.0.0.251", "broadcast": "255.255.255.255",
		"gate": "198.18.0.1", "box": "198.18.0.2",
	} {
		t.Run(short, func(t *testing.T) {
			t.Parallel()
			w := w.as(t)
			// Each below a domain of its own: lookups below one that nothing came
			// of are told together, under one of the names.
			host := w.name("a."+short, addr)
			out := w.failsIn(box, w.inside("dial", "tcp", host+":7999")...)
			if hung.MatchString(out) {
				t.Errorf("it was not refused, only not answered: %s", out)
			}
			if found, _ := w.in(box, w.inside("lookup", host)...); strings.Contains(" "+found+" ", " "+addr+" ") {
				t.Errorf("the gate says that %s is %s", host, found)
			}
			if c := w.recorded(box, want{state: forkbox.ConnRefused, host: host}); strings.Contains(c.Why, "no port") {
				t.Errorf("the record does not say what is wrong with %s: %s", addr, lineOf(c))
			}
		})
	}
	t.Cleanup(func() { w.silent(w.Private, metadata) })
}

// TestPromise8Rebinding: a name that was good when it was judged turns to
// another address. Where it leads then is judged anew.
func TestPromise8Rebinding(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	for i, to := range []string{w.Private, metadata, hostAddr4, "127.0.0.1", "0.0.0.0"} {
		t.Run(to, func(t *testing.T) {
			w := w.as(t)
			host := w.names("turn"+string(rune('a'+i)), []string{w.Server4}, []string{to})
			box := w.makeBox("p"+string(rune('a'+i)), "--allow", host)
			w.works(box, w.inside("dial", "tcp", host+":80")...)
			w.until("it is asked again", func() bool { // its first answer is good for a second
				_, _ = w.in(box, w.inside("lookup", host)...)
				return len(w.asked(host)) > 1
			})
			if out, _ := w.in(box, w.inside("lookup", host)...); strings.Contains(out, to) {
				t.Errorf("the gate gives out %s", out)
			}
			w.failsIn(box, w.inside("dial", "tcp", to+":80")...)
			w.failsIn(box, w.inside("get", "http://"+to+"/", "Host:"+host)...)
		})
	}
	w.silent(w.Private, metadata)
}

// TestPromise8Alias: a name may be an alias, but not of one that a rule denies.
func TestPromise8Alias(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	evil, good := w.name("evil", w.Canary4), w.name("good")
	trap := w.name("trap", "CNAME "+evil+".")
	long := w.name("long", "CNAME "+trap+".")
	fine := w.name("fine", "CNAME "+good+".")
	box := w.makeBox("prisoner", "--deny", "evil."+w.domain, "--allow", trap, "--allow", long, "--allow", fine)
	w.works(box, w.inside("dial", "tcp", fine+":80")...)
	for _, host := range []string{trap, long} {
		w.failsIn(box, w.inside("dial", "tcp", host+":443")...)
		w.recorded(box, want{state: forkbox.ConnRefused, host: host, port: 443, rule: "deny " + evil})
	}
	w.failsIn(box, w.inside("dial", "tcp", good+":443")...) // what an alias leads to is not allowed by itself
	w.recorded(box, want{state: forkbox.ConnRefused, host: good, port: 443, rule: "-"})
	w.silent(w.Canary4)
}

// TestPromise8NumbersAreNoNames: what some programs take for an address is never
// one to the gate.
func TestPromise8NumbersAreNoNames(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	box := w.makeBox("prisoner", "--allow", "*")
	for _, name := range []string{"2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0", "[::1]"} {
		out, _ := w.in(box, w.inside("ask", "udp", "198.18.0.1:53", name, "A")...)
		for _, bad := range []string{"127.0.0.1", "0.0.0.0"} {
			if strings.Contains(out, bad) {
				t.Errorf("%s is %s", name, out)
			}
		}
		w.failsIn(box, sh(`curl -sSf http://$1:7999/`, name)...)
	}
}

// TestNetQuestions: what the gate's name server answers beside addresses.
func TestNetQuestions(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host := w.name("host", w.Server4, `TXT "a note"`, "MX 10 mail."+w.domain+".", "HTTPS 1 . alpn=h3 ipv4hint="+w.Canary4)
	box := w.makeBox("walker", "--allow", host+":443")
	ask := func(proto, kind string) string {
		return w.works(box, w.inside("ask", proto, "198.18.0.1:53", host, kind)...)
	}
	for _, proto := range []string{"udp", "tcp"} {
		for kind, want := range map[string]string{"A": w.Server4, "TXT": "a note", "MX": "mail."} {
			if out := ask(proto, kind); !strings.Contains(out, want) {
				t.Errorf("%s over %s: %s", kind, proto, out)
			}
		}
		// They carry keys that hide the name, and addresses beside the answer.
		if out := ask(proto, "HTTPS"); out != "ok NOERROR" {
			t.Errorf("HTTPS over %s: %s", proto, out)
		}
		if out := ask(proto, "ANY"); strings.Contains(out, w.Server4) || strings.Contains(out, "NOERROR;") {
			t.Errorf("ANY over %s: %s", proto, out)
		}
	}
	if out := w.works(box, w.inside("ask", "udp", "[fd66:6f72:6b00::1]:53", host, "A")...); !strings.Contains(out, w.Server4) {
		t.Errorf("by IPv6: %s", out)
	}
}
