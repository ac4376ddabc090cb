//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// job is a command in a box that is spoken to while it runs.
type job struct {
	w    *netWorld
	in   io.WriteCloser
	out  *bufio.Reader
	wait func() error
	end  func()
}

// begins runs a command in a box whose stdin and stdout are the test's.
func (w *netWorld) begins(args ...string) *job {
	w.Helper()
	cmd := w.command(args...)
	in, err := cmd.StdinPipe()
	w.ok(err)
	out, err := cmd.StdoutPipe()
	w.ok(err)
	cmd.Stderr = os.Stderr
	w.ok(cmd.Start())
	w.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	return &job{w, in, bufio.NewReader(out), cmd.Wait, func() { cmd.Process.Kill() }}
}

// line waits for its next one.
func (j *job) line() string {
	j.w.Helper()
	late := time.AfterFunc(limitPatience, j.end)
	defer late.Stop()
	text, err := j.out.ReadString('\n')
	if err != nil {
		j.w.Fatalf("it ended, or said nothing for long: %q %v\n%s", text, err, j.w.log())
	}
	return strings.TrimSpace(text)
}

func (j *job) goOn() {
	j.w.Helper()
	_, err := io.WriteString(j.in, "\n")
	j.w.ok(err)
}

// holds opens connections from a box, and keeps them until goOn.
func (w *netWorld) holds(box, address string, count int) *job {
	w.Helper()
	return w.begins(append([]string{"exec", "-i", box, "--"}, w.inside("hold", address, fmt.Sprint(count))...)...)
}

// TestNetAllowLive: a rule that is added counts at once, one that is taken away
// ends what it had allowed, and what others allow goes on.
func TestNetAllowLive(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host, other := w.name("host"), w.name("other")
	box := w.makeBox("live", "--allow", other+":7")
	kept := w.holds(box, other+":7", 1)
	if got := kept.line(); got != "open 1 <nil>" {
		t.Fatalf("it says %s", got)
	}
	w.failsIn(box, w.inside("dial", "tcp", host+":7")...)
	w.must("net", "allow", box, host+":7")
	cut := w.holds(box, host+":7", 1)
	if got := cut.line(); got != "open 1 <nil>" {
		t.Fatalf("after it was allowed: %s", got)
	}
	w.must("net", "rm", box, host+":7")
	cut.goOn()
	if got := cut.line(); got != "ok alive 0" {
		t.Errorf("what is no longer allowed goes on: %s", got)
	}
	w.failsIn(box, w.inside("dial", "tcp", host+":7")...)
	w.must("net", "deny", box, other+":80")
	w.failsIn(box, w.inside("dial", "tcp", other+":80")...)
	w.recorded(box, want{state: forkbox.ConnRefused, host: other, port: 80, rule: "deny " + other + ":80"})
	kept.goOn()
	if got := kept.line(); got != "ok alive 1" {
		t.Errorf("what is allowed did not go on: %s", got)
	}
	for _, bad := range []string{"a b c", "evil\nallow *", "{{.}}", "0177.0.0.1", "$(id)", "*:99999"} {
		w.refused(nil, "net", "allow", box, bad)
	}
	w.failsIn(box, w.inside("dial", "tcp", w.Canary4+":80")...)
	w.silent(w.Canary4)
}

// TestNetRulesSurvive: rules that were added to a live box hold after a restart
// of the box and of the daemon, and for what is forked from it.
func TestNetRulesSurvive(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host := w.name("host")
	box := w.makeBox("live")
	w.must("net", "allow", box, host+":80")
	w.restart()
	w.must("stop", box)
	w.works(box, w.inside("dial", "tcp", host+":80")...)
	w.must("fork", box, "child")
	w.works("child", w.inside("dial", "tcp", host+":80")...)
	w.failsIn("child", w.inside("dial", "tcp", host+":443")...)
}

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
		out, said, err := w.cli("net", "explain", box, target)
		allowed := strings.HasPrefix(words[0], "allow ")
		if code := exitCode(err); allowed != (code == 0) || code > 1 {
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
