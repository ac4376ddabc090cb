//go:build linux

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestNetLog: every attempt with all that is known of it, also as it happens,
// and in words that no name can spoil.
func TestNetLog(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host, evil := w.name("host"), w.name("evil")
	box := w.makeBox("seen", "--allow", host+":80", "--allow", host+":7")
	w.starts(box, "sleep", "100") // it runs: its log can be followed
	follow := w.begins("net", "log", box, "-f", "--json")
	hears := func(x want) {
		for {
			var c forkbox.Conn
			w.ok(json.Unmarshal([]byte(follow.line()), &c))
			if x.fits(c) {
				return
			}
		}
	}
	held := w.holds(box, host+":7", 1)
	hears(want{state: forkbox.ConnOpen, host: host, port: 7})
	held.goOn()
	hears(want{state: forkbox.ConnClosed, host: host, port: 7})
	w.works(box, sh(`curl -sSf "http://$1/bytes?n=100000" >/dev/null`, host)...)
	w.failsIn(box, sh(`curl -sS https://$1/`, evil)...)
	hears(want{state: forkbox.ConnRefused, host: evil, port: 443})
	c := w.recorded(box, want{host: host, port: 80, state: forkbox.ConnClosed, in: 100000})
	if c.Name != box || c.UID != os.Getuid() || c.Exec == "" || c.PID == 0 || !strings.Contains(c.Command, "curl") ||
		c.In < 100000 || c.Out == 0 || c.Lasted == 0 || c.Time.IsZero() || c.Rule.From != "box" {
		t.Errorf("the record of an allowed one lacks something: %s", lineOf(c))
	}
	c = w.recorded(box, want{host: evil, port: 443, state: forkbox.ConnRefused})
	if c.Exec == "" || c.PID == 0 || !strings.Contains(c.Command, "curl") || !strings.Contains(c.Remedy, "forkbox net allow seen") {
		t.Errorf("the record of a refused one lacks something: %s %q", lineOf(c), c.Remedy)
	}
	text := w.must("net", "log", box, "--refused")
	if !strings.Contains(text, evil) || strings.Contains(text, host+":80") {
		t.Errorf("net log --refused says %s", text)
	}
}

// TestNetLogHostile: what a box calls itself does not reach the terminal.
func TestNetLogHostile(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	box := w.makeBox("rude")
	w.failsIn(box, sh(`cp /bin/bash "$(printf 'x\033[2Jy\nz')"; ./x* -c 'exec 3<>/dev/tcp/$1/80' "$(printf '\033]0;z\007\n')" $1`, w.Canary4)...)
	w.recorded(box, want{addr: w.Canary4, port: 80, state: forkbox.ConnRefused})
	text := w.must("net", "log", box)
	if strings.ContainsAny(text, "\x1b\x07") || strings.Count(strings.TrimSpace(text), "\n") > 2 {
		t.Errorf("net log says %q", text)
	}
}

// TestNetExplain says without connecting what the gate would do, and why.
func TestNetExplain(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host, evil := w.name("host"), w.name("evil", w.Canary4)
	box := w.makeBox("asked", "--deny", "evil."+w.domain, "--allow", "GET "+host+"/repos/**", "--allow", "10.0.0.0/8:5432")
	for target, words := range map[string][]string{
		"https://" + host + "/repos/x": {"allow GET " + host + "/repos/**"},
		w.Private + ":5432":            {"allow 10.0.0.0/8:5432"},
		"https://" + host + "/other":   {"net allow asked"},
		"https://" + evil + "/":        {"deny " + evil},
		"unknown.example:22":           {"no rule", "net allow asked", "unknown.example:22"},
		"http://" + metadata + "/x":    {"metadata"},
		hostAddr4 + ":22":              {"own address"},
		"[::ffff:" + metadata + "]:80": {"metadata"},
		"http://127.0.0.1:5432/":       {"host-port"},
	} {
		out, said, code := w.cli("net", "explain", box, target)
		allowed := strings.HasPrefix(words[0], "allow ")
		if allowed != (code == 0) || code > 1 {
			t.Errorf("explain %s ends with %d: %s%s", target, code, out, said)
		}
		for _, word := range words {
			if !strings.Contains(out+said, word) {
				t.Errorf("explain %s does not say %q: %s%s", target, word, out, said)
			}
		}
	}
	w.silent(w.Canary4)
}

// TestNetRefusalTeaches: who is refused a page reads why, and what to ask for.
func TestNetRefusalTeaches(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	evil, host := w.name("evil"), w.name("host")
	box := w.makeBox("pupil", "--allow", host+":443", "--terminate", host)
	out := w.failsIn(box, sh(`curl -sS --fail-with-body http://$1/`, evil)...)
	for _, word := range []string{"403", evil, "forkbox net allow pupil"} {
		if !strings.Contains(out, word) {
			t.Errorf("the page does not say %q: %s", word, out)
		}
	}
	if out := w.failsIn(box, w.inside("dial", "tcp", evil+":443")...); !strings.Contains(out, "ECONNREFUSED") {
		t.Errorf("a program is told %s", out)
	}
	_, said, _ := w.cli("run", "--keep", "--name", "told", "--net", "policy", "--net-preset", "locked", "--", "curl", "-sS", "https://"+evil+"/")
	for _, word := range []string{"refused", evil + ":443", "net log"} {
		if !strings.Contains(said, word) {
			t.Errorf("the summary of a run does not say %q: %s", word, said)
		}
	}
}
