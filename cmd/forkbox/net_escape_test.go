//go:build linux

package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// attempt is a way out of a box that a program in it might try.
type attempt struct {
	name string
	argv []string
	// record is what has to be on record, and no other attempt can be taken for:
	// each has a port of its own. Nothing where the attempt never gets
	// to the gate: the comment beside it says why.
	record want
	// mute is that who tries cannot know that it failed: a packet was sent, and
	// that no host heard it is for the world to say.
	mute bool
	// rights may be missing for it: then the kernel of the box refuses it, and
	// nothing gets to the gate.
	rights bool
	// tame is that the attempt reaches the canary from nowhere, also not with
	// --net host.
	tame bool
}

// aims are what attempts are made at.
type aims struct {
	four, six string // addresses that no rule allows
	evil      string // a name that no rule allows, which stands for them
}

// TestPromise8NoWayOutButThePolicy tries all the ways out: each is refused, the
// world hears nothing, not even a SYN or a question for a name, and it is on
// record. From a box with --net host the same attempts do reach the world: they
// are real.
func TestPromise8NoWayOutButThePolicy(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	web := w.name("web")
	box := w.makeBox("prisoner", "--allow", web+":443", "--allow", web+":80")
	w.works(box, w.inside("say", "tcp", web+":80", "GET / HTTP/1.0\r\nHost: "+web+"\r\n\r\n")...)
	at := aims{w.Canary4, w.Canary6, w.name("evil", w.Canary4, w.Canary6)}
	for _, a := range w.attempts(at) {
		t.Run(a.name, func(t *testing.T) { w.as(t).foil(box, a, at) })
	}
	if left := w.asked(at.evil); len(left) > 0 {
		t.Errorf("the world's name server was asked: %v", left)
	}
}

// noRights is what the kernel says to who may not use raw sockets.
var noRights = regexp.MustCompile(`EPERM|EACCES|Operation not permitted|Permission denied`)

// hung is what a program says that was not refused but left to wait.
var hung = regexp.MustCompile(`(?i)timed out|i/o timeout|ETIMEDOUT|deadline exceeded`)

// foil makes an attempt and sees it refused, unheard and recorded.
func (w *netWorld) foil(box string, a attempt, at aims) {
	w.Helper()
	out, err := w.in(box, a.argv...)
	switch {
	case !a.mute && exitCode(err) <= 0:
		w.Errorf("it was not refused (%v): %s", err, out)
	case !a.mute && hung.MatchString(out):
		w.Errorf("it was not refused, only not answered: %s", out)
	case a.mute && err != nil && !noRights.MatchString(out):
		w.Errorf("it could not even be tried: %v %s", err, out)
	}
	w.silent(at.four, at.six)
	if asked := w.asked(at.evil); len(asked) > 0 {
		w.Errorf("the world's name server was asked: %v", asked)
	}
	if a.rights && noRights.MatchString(out) && os.Geteuid() != 0 {
		return
	}
	if a.record != (want{}) {
		a.record.state = forkbox.ConnRefused
		w.recorded(box, a.record)
	}
}

// TestEscapesAreReal makes the attempts from a box that shares the host's
// network: a canary that is never heard there would prove nothing.
func TestEscapesAreReal(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	w.must("new", "--name", "free", "--net", "host")
	at := aims{w.Canary4, w.Canary6, w.name("evil", w.Canary4, w.Canary6)}
	for _, a := range w.attempts(at) {
		if a.tame || strings.Contains(strings.Join(a.argv, " "), at.evil) { // this machine's resolver knows no such name
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			w := w.as(t)
			before := fmt.Sprint(w.heard(at.four), w.heard(at.six))
			out, _ := w.in("free", append([]string{"timeout", "1"}, a.argv...)...)
			if after := fmt.Sprint(w.heard(at.four), w.heard(at.six)); after == before && !noRights.MatchString(out) {
				t.Errorf("nothing was heard of it: %s", out)
			}
		})
	}
}

func (w *netWorld) attempts(at aims) (all []attempt) {
	all = append(all, w.attemptsByAddress(at)...)
	all = append(all, w.attemptsByName(at)...)
	all = append(all, w.attemptsByDNS(at)...)
	all = append(all, w.attemptsBelow(at)...)
	return append(all, w.attemptsToCallHome(at)...)
}

// attemptsByAddress connect without asking for a name.
func (w *netWorld) attemptsByAddress(at aims) []attempt {
	to := func(port int) want { return want{proto: "tcp", addr: at.four, port: port, rule: "-"} }
	to6 := func(port int) want { return want{proto: "tcp", addr: at.six, port: port, rule: "-"} }
	return []attempt{
		{name: "a Go program", argv: w.inside("dial", "tcp", at.four+":443"), record: to(443)},
		{name: "a Go program by IPv6", argv: w.inside("dial", "tcp", "["+at.six+"]:443"), record: to6(443)},
		{name: "curl", argv: sh(`curl -sSk --noproxy '*' https://$1:2001/`, at.four), record: to(2001)},
		{name: "curl by IPv6", argv: sh(`curl -sSgk "https://[$1]:2001/"`, at.six), record: to6(2001)},
		{name: "proxy variables unset", argv: sh(`env -i PATH="$PATH" curl -sS --noproxy '*' http://$1:8080/`, at.four), record: to(8080)},
		{name: "python", argv: []string{"/usr/bin/python3", "-c", "import socket,sys; socket.create_connection((sys.argv[1], 2002))", at.four}, record: to(2002)},
		{name: "node", argv: []string{"node", "-e", `require("net").connect(2003, process.argv[1], () => process.exit(0)).on("error", e => { console.log(e.code); process.exit(1) })`, at.four}, record: to(2003)},
		{name: "ssh", argv: sh(`ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null root@$1 id`, at.four), record: to(22)},
		{name: "git", argv: sh(`git ls-remote git://$1/repo.git`, at.four), record: to(9418)},
		{name: "IPv4 in IPv6", argv: w.inside("mapped", at.four, "8443"), record: to(8443)},
		{name: "decimal", argv: sh(`curl -sS http://$1:8081/`, decimalOf(at.four)), record: to(8081)},
		{name: "octal", argv: sh(`curl -sS http://$1:8082/`, formOf(at.four, "0%o")), record: to(8082)},
		{name: "hexadecimal", argv: sh(`curl -sS http://$1:8083/`, formOf(at.four, "0x%x")), record: to(8083)},
		{name: "UDP", argv: w.inside("say", "udp", at.four+":7", "a secret"), record: want{proto: "udp", addr: at.four, port: 7, rule: "-"}},
		{name: "UDP by IPv6", argv: w.inside("say", "udp", "["+at.six+"]:7", "a secret"), record: want{proto: "udp", addr: at.six, port: 7, rule: "-"}},
		{name: "QUIC", argv: w.inside("say", "udp", at.four+":443", "\xc0\xff\x01"), record: want{proto: "udp", addr: at.four, port: 443, rule: "-"}},
	}
}

// attemptsByName connect to a name that no rule allows. All of them get an
// address from the gate, so that the record has name and port.
func (w *netWorld) attemptsByName(at aims) []attempt {
	to := func(port int) want { return want{proto: "tcp", host: at.evil, port: port, rule: "-"} }
	return []attempt{
		{name: "a name by curl", argv: sh(`curl -sSk https://$1/`, at.evil), record: to(443)},
		{name: "a name by a Go program", argv: w.inside("get", "https://"+at.evil+":8443/"), record: to(8443)},
		{name: "a name in capitals with a dot", argv: sh(`curl -sSk https://$1.:8444/`, strings.ToUpper(at.evil)), record: to(8444), tame: true},
		{name: "a name behind another", argv: sh(`curl -sSkf "http://$2@$1:8080/"`, at.evil, "web."+w.domain), record: to(8080)},
		{name: "a name by python", argv: []string{"/usr/bin/python3", "-c", "import urllib.request,sys; urllib.request.urlopen(sys.argv[1])", "https://" + at.evil + ":8445/"}, record: to(8445)},
		{name: "a name by node", argv: []string{"node", "-e", `fetch(process.argv[1]).then(() => process.exit(0), e => { console.log(e.cause); process.exit(1) })`, "https://" + at.evil + ":8446/"}, record: to(8446)},
		{name: "a name by ssh", argv: sh(`ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null root@$1 id`, at.evil), record: to(22)},
		{name: "a name by git", argv: sh(`git ls-remote git://$1/repo.git`, at.evil), record: to(9418)},
		{name: "a name's page", argv: sh(`curl -sSf http://$1/`, at.evil), record: to(80)},
		{name: "a redirect", argv: sh(`curl -sSfL "http://$2/redirect?to=http://$1:8090/"`, at.evil, "web."+w.domain), record: to(8090), tame: true},
	}
}

func decimalOf(addr string) string {
	var n uint32
	for _, part := range strings.Split(addr, ".") {
		var b uint32
		fmt.Sscan(part, &b)
		n = n<<8 | b
	}
	return fmt.Sprint(n)
}

func formOf(addr, format string) string {
	parts := strings.Split(addr, ".")
	for i, part := range parts {
		var b int
		fmt.Sscan(part, &b)
		parts[i] = fmt.Sprintf(format, b)
	}
	return strings.Join(parts, ".")
}
