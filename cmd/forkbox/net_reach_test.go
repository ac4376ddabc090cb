//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// reach is a program that gets through to what its box may reach.
type reach struct {
	name string
	argv []string
	says string // part of what it has to say
	// record is the allowed connection; its rule is one of the box's.
	record want
}

// TestNetReaches has programs of all kinds use the network through the gate
// with nothing set up for it: no proxy variables, no certificates.
func TestNetReaches(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host, six := w.name("host"), w.name("six", w.Server6)
	box := w.makeBox("walker", "--allow", host, "--allow", "udp:"+host+":7", "--allow", six+":80-443", "--allow", w.Server4+":8080", "--allow", "["+w.Server6+"]:8080")
	w.ok(os.WriteFile(filepath.Join(w.root, "ca.pem"), w.outsideBytes("ca.pem"), 0o644))
	w.ok(os.WriteFile(filepath.Join(w.root, "key"), w.outsideBytes("ssh_client"), 0o600))
	for _, r := range append(w.webReaches(host, six), w.otherReaches(host)...) {
		t.Run(r.name, func(t *testing.T) { w.as(t).reaches(box, r) })
	}
	w.silent(w.Canary4, w.Canary6)
}

func (w *netWorld) reaches(box string, r reach) {
	w.Helper()
	if out := w.works(box, r.argv...); !strings.Contains(out, r.says) {
		w.Errorf("it does not say %q, but %s", r.says, out)
	}
	udp := r.record.proto == "udp" // the gate cannot know when that ends
	w.until("it is on record, and what came and went", func() bool {
		for _, c := range w.conns(box) {
			if r.record.fits(c) && c.Allowed && c.Rule.From == "box" && (udp || c.State == forkbox.ConnClosed && c.In > 0 && c.Out > 0) {
				return true
			}
		}
		return false
	})
}

func (w *netWorld) webReaches(host, six string) []reach {
	web := func(port int) want { return want{proto: "tcp", host: host, port: port, rule: "allow " + host} }
	return []reach{
		{"curl", sh(`curl -sSf http://$1/`, host), "hello from " + host, web(80)},
		{"curl and HTTP/1.1 over TLS", sh(`curl -sSf --http1.1 --cacert ca.pem https://$1/`, host), "hello from", web(443)},
		{"curl and HTTP/2", sh(`curl -sSf --http2 --cacert ca.pem -w '%{http_version}' https://$1/`, host), "\n2", web(443)},
		{"curl by IPv6", sh(`curl -sSf -6 http://$1/`, six), "hello from", want{host: six, addr: w.Server6, port: 80}},
		{"curl by an allowed address", sh(`curl -sSf http://$1:8080/`, w.Server4), "hello from", want{addr: w.Server4, port: 8080, rule: "allow " + w.Server4 + ":8080"}},
		{"curl by an allowed address of IPv6", sh(`curl -sSfg "http://[$1]:8080/"`, w.Server6), "hello from", want{addr: w.Server6, port: 8080}},
		{"a large answer", sh(`curl -sSf "http://$1/bytes?n=30000000" | wc -c`, host), "30000000", web(80)},
		{"a large upload", sh(`head -c 30000000 /dev/zero | curl -sSf -T - http://$1/bytes`, host), "30000000", web(80)},
		{"a Go program", w.inside("get", "http://"+host+"/"), "200 HTTP/1.1", web(80)},
		{"python", []string{"/usr/bin/python3", "-c", "import urllib.request,sys; print(urllib.request.urlopen(sys.argv[1]).read())", "http://" + host + "/"}, "hello from", web(80)},
		{"node", []string{"node", "-e", `fetch(process.argv[1]).then(r => r.text()).then(console.log)`, "http://" + host + "/"}, "hello from", web(80)},
		{"a WebSocket", w.inside("ws", "ws://"+host+"/echo", "a line"), "ok a line", web(80)},
		{"a page over one connection twice", sh(`curl -sSf http://$1/ http://$1/reflect`, host), `"uri":"/reflect"`, web(80)},
	}
}

func (w *netWorld) otherReaches(host string) []reach {
	to := func(port int) want { return want{proto: "tcp", host: host, port: port, rule: "allow " + host} }
	ssh := `ssh -i key -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null`
	repo := w.outsideFile("git/repo.git")
	return []reach{
		{"plain sockets by netcat", sh(`echo a line | nc.openbsd -q 2 -w 20 $1 7`, host), "a line", to(7)},
		{"plain sockets by python", []string{"/usr/bin/python3", "-c", "import socket,sys; s = socket.create_connection((sys.argv[1], 7)); s.send(b'a line'); print(s.recv(99))", host}, "a line", to(7)},
		{"ssh", sh(ssh+` root@$1 id`, host), "hello from ssh", to(22)},
		{"git over ssh", sh(`rm -rf a; GIT_SSH_COMMAND="`+ssh+`" git clone -q ssh://root@$1$2 a; cat a/file`, host, repo), "a line", to(22)},
		{"git over https", sh(`rm -rf b; GIT_SSL_CAINFO=$PWD/ca.pem git clone -q https://$1/git/repo.git b; cat b/file`, host), "a line", to(443)},
		{"UDP", w.inside("say", "udp", host+":7", "a line"), "ok a line", want{proto: "udp", host: host, port: 7, rule: "allow udp:" + host + ":7"}},
	}
}

// TestNetQUICFallsBack refuses UDP at once, so that a browser goes on with TCP.
func TestNetQUICFallsBack(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host := w.name("quic")
	box := w.makeBox("walker", "--allow", host+":443")
	if out := w.failsIn(box, w.inside("say", "udp", host+":443", "\xc0\xff\x01")...); !strings.Contains(out, "ECONNREFUSED") {
		t.Errorf("it says %s", out)
	}
	w.recorded(box, want{state: forkbox.ConnRefused, proto: "udp", host: host, port: 443})
	w.works(box, w.inside("dial", "tcp", host+":443")...)
}

// TestNetSlowAnswer: what a server says reaches the box when it is said, also
// where the gate reads along.
func TestNetSlowAnswer(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host := w.name("host")
	box := w.makeBox("patient", "--allow", host, "--terminate", host)
	for _, scheme := range []string{"http", "https"} {
		key := scheme + "-" + w.domain
		curl := w.begins("exec", box, "--", "curl", "-sSfN", scheme+"://"+host+"/hold?key="+key)
		if got := curl.line(); got != "first half" {
			t.Errorf("by %s it begins with %s", scheme, got)
		}
		w.tell("POST", "/release?key="+key, nil, nil)
		if got := curl.line(); got != "second half" {
			t.Errorf("by %s it ends with %s", scheme, got)
		}
	}
}

// TestNetProxyIsHonoured: who has to use a proxy can, and says where to: the
// gate judges that.
func TestNetProxyIsHonoured(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	proxy, host := w.name("proxy"), w.name("host")
	box := w.makeBox("walker", "--allow", proxy+":8080", "--allow", host+":443", "--allow", host+":80")
	get := `http_proxy=http://$1:8080 https_proxy=http://$1:8080 curl -sSfk $2`
	for _, url := range []string{"https://" + host + "/", "http://" + host + "/"} {
		if out := w.works(box, sh(get, proxy, url)...); !strings.Contains(out, "hello from "+host) {
			t.Errorf("%s through a proxy: %s", url, out)
		}
	}
	evil := w.name("evil")
	for _, url := range []string{"https://" + evil + "/", "http://" + evil + "/"} {
		w.failsIn(box, sh(get, proxy, url)...)
	}
	if got := w.got(evil); len(got) > 0 {
		t.Errorf("a proxy was asked for what no rule allows: %+v", got)
	}
	w.recorded(box, want{state: forkbox.ConnRefused, host: evil})
}

func (w *netWorld) outsideBytes(name string) []byte {
	w.Helper()
	b, err := os.ReadFile(w.outsideFile(name))
	w.ok(err)
	return b
}
