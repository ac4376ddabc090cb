package rules

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// box is a list of rules that a box has; "|" separates the floor's.
func box(texts ...string) (rules, floor []forkbox.NetRule) {
	into, from := &rules, "box"
	for _, text := range texts {
		if text == "|" {
			into, from = &floor, "host"
			continue
		}
		*into = append(*into, forkbox.NetRule{Rule: text, From: from})
	}
	return rules, floor
}

func policyOf(t testing.TB, opts Options, texts ...string) *Policy {
	t.Helper()
	rules, floor := box(texts...)
	p, err := New(rules, floor, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// to is a target: "proto:host@addr:port", with host or @addr left out.
func to(text string) forkbox.NetTarget {
	t := forkbox.NetTarget{Proto: "tcp", Port: 443}
	if rest, udp := strings.CutPrefix(text, "udp:"); udp {
		t.Proto, text = "udp", rest
	}
	t.Host = text
	if host, addr, has := strings.Cut(text, "@"); has {
		t.Host, t.Addr = host, netip.MustParseAddr(addr)
	}
	return t
}

// own are the addresses of the test's host.
func own198() []netip.Addr {
	return []netip.Addr{netip.MustParseAddr("192.168.1.5"), netip.MustParseAddr("198.51.100.9"), netip.MustParseAddr("::1"), netip.MustParseAddr("fe80::9%eth0")}
}

// TestConnect: each line is a list of rules, a box that wants out, and what
// they are told.
func TestConnect(t *testing.T) {
	opts := Options{Own: own198, HostPorts: []int{443}, Pinned: []string{"*.pinned.example"}}
	for _, c := range []struct {
		rules  []string
		target string
		why    string
		remedy string
	}{
		{nil, "h.example", "no rule allows it", "forkbox net allow BOX 'h.example:443'"},
		{nil, "udp:h.example", "no rule allows it", "forkbox net allow BOX 'udp:h.example:443'"},
		{[]string{"allow h.example:443"}, "h.example", "allowed by `allow h.example:443` (box)", ""},
		{[]string{"allow h.example:443"}, "H.Example.", "allowed by `allow h.example:443` (box)", ""},
		{[]string{"allow h.example:443"}, "udp:h.example", "no rule allows it", "forkbox net allow BOX 'udp:h.example:443'"},
		{[]string{"allow any:h.example"}, "udp:h.example", "allowed by `allow any:h.example` (box)", ""},
		{[]string{"allow h.example:80"}, "h.example", "no rule allows it", "forkbox net allow BOX 'h.example:443'"},
		{[]string{"allow *.example"}, "a.b.example", "allowed by `allow *.example` (box)", ""},
		{[]string{"allow *.example"}, "example", "no rule allows it", "forkbox net allow BOX 'example:443'"},
		{[]string{"allow *.h.example"}, "xh.example", "no rule allows it", "forkbox net allow BOX 'xh.example:443'"},
		{[]string{"deny *.evil.org", "allow *"}, "x.evil.org", "denied by `deny *.evil.org` (box)", "forkbox net allow BOX 'x.evil.org:443'"},
		{[]string{"allow *", "deny *.evil.org"}, "x.evil.org", "allowed by `allow *` (box)", ""},
		{[]string{"allow *"}, "@203.0.113.7", "no rule allows it", "forkbox net allow BOX '203.0.113.7:443'"},
		{[]string{"allow *"}, "@2001:db8::1", "no rule allows it", "forkbox net allow BOX '[2001:db8::1]:443'"},
		{[]string{"allow 203.0.113.0/24"}, "@203.0.113.7", "allowed by `allow 203.0.113.0/24` (box)", ""},
		{[]string{"allow 203.0.113.0/24"}, "@::ffff:203.0.113.7", "allowed by `allow 203.0.113.0/24` (box)", ""},
		{[]string{"allow 203.0.113.0/24"}, "203.0.113.7", "allowed by `allow 203.0.113.0/24` (box)", ""},
		{[]string{"allow 203.0.113.0/24"}, "203.0.113.7@203.0.113.8", "it is addressed to 203.0.113.7 and goes to 203.0.113.8", ""},
		{[]string{"deny 203.0.113.0/24", "allow *"}, "h.example@203.0.113.7", "denied by `deny 203.0.113.0/24` (box)", "forkbox net allow BOX 'h.example:443'"},
		{[]string{"deny 203.0.113.0/24", "allow ::/0"}, "@64:ff9b::203.0.113.7", "denied by `deny 203.0.113.0/24` (box)", "forkbox net allow BOX '[64:ff9b::cb00:7107]:443'"},

		// Special addresses.
		{[]string{"allow *"}, "h.example@10.1.2.3", "it is a private address, and no rule names it", "forkbox net allow BOX 'h.example:443 private'"},
		{[]string{"allow h.example private"}, "h.example@10.1.2.3", "allowed by `allow h.example private` (box)", ""},
		{[]string{"allow h.example private"}, "h.example@100.64.0.1", "allowed by `allow h.example private` (box)", ""},
		{[]string{"allow h.example private"}, "h.example@fd12::1", "allowed by `allow h.example private` (box)", ""},
		{[]string{"allow h.example private"}, "h.example@100.100.100.200", "it is the address of a cloud's metadata service, and no rule names it", "forkbox net allow BOX '100.100.100.200:443'"},
		{[]string{"allow h.example private"}, "h.example@fd00:ec2::254", "it is the address of a cloud's metadata service, and no rule names it", "forkbox net allow BOX '[fd00:ec2::254]:443'"},
		{[]string{"allow h.example private"}, "h.example@169.254.169.254", "it is the address of a cloud's metadata service, and no rule names it", "forkbox net allow BOX '169.254.169.254:443'"},
		{[]string{"allow h.example private"}, "h.example@fe80::1", "it is a link-local address, and no rule names it", "forkbox net allow BOX '[fe80::1]:443'"},
		{[]string{"allow 169.254.0.0/16"}, "@169.254.169.254", "allowed by `allow 169.254.0.0/16` (box)", ""},
		{[]string{"allow 0.0.0.0/0"}, "@10.1.2.3", "it is a private address, and no rule names it", "forkbox net allow BOX '10.1.2.3:443'"},
		{[]string{"allow 8.0.0.0/5"}, "@10.1.2.3", "it is a private address, and no rule names it", "forkbox net allow BOX '10.1.2.3:443'"},
		{[]string{"allow ::/0"}, "@fd12::1", "it is a private address, and no rule names it", "forkbox net allow BOX '[fd12::1]:443'"},
		{[]string{"allow 10.0.0.0/8"}, "@10.1.2.3", "allowed by `allow 10.0.0.0/8` (box)", ""},
		{[]string{"allow *", "allow 10.0.0.0/8"}, "h.example@10.1.2.3", "allowed by `allow 10.0.0.0/8` (box)", ""},
		{[]string{"allow * private", "allow 0.0.0.0/0", "allow 192.168.0.0/16"}, "h.example@192.168.1.5", "it is the host's own address", "forkbox net allow BOX '192.168.1.5:443'"},
		{[]string{"allow *", "allow 0.0.0.0/0"}, "@198.51.100.9", "it is the host's own address", "forkbox net allow BOX '198.51.100.9:443'"},
		{[]string{"allow 198.51.100.9"}, "@198.51.100.9", "allowed by `allow 198.51.100.9` (box)", ""},
		{[]string{"allow fe80::/10"}, "@fe80::9", "it is the host's own address", "forkbox net allow BOX '[fe80::9]:443'"},
		{[]string{"allow *", "allow 0.0.0.0/0"}, "@0.0.0.0", "it is a loopback address, which no rule can allow", "forkbox new --host-port 443, and host.forkbox.internal in the box"},
		{[]string{"allow ::/0"}, "@::1", "it is a loopback address, which no rule can allow", "forkbox new --host-port 443, and host.forkbox.internal in the box"},
		{[]string{"allow 0.0.0.0/0"}, "@::ffff:127.0.0.1", "it is a loopback address, which no rule can allow", "forkbox new --host-port 443, and host.forkbox.internal in the box"},
		{[]string{"allow ::/0"}, "@64:ff9b::10.1.2.3", "it is a reserved address, which no rule can allow", ""},
		{[]string{"allow ::/0"}, "@64:ff9b::198.51.100.9", "it is a reserved address, which no rule can allow", ""},
		{[]string{"allow ::/0"}, "@64:ff9b::8.8.8.8", "allowed by `allow ::/0` (box)", ""},
		{[]string{"allow ::/0"}, "@2002:7f00:1::", "it is a reserved address, which no rule can allow", ""},
		{[]string{"allow ::/0"}, "@2002:a01:203::1", "it is a reserved address, which no rule can allow", ""},
		{[]string{"allow ::/0"}, "@2001:0:a00:1::1", "it is a reserved address, which no rule can allow", ""},
		{[]string{"allow ::/0"}, "@2001:0:808:808:0:0:f5ff:fffe", "it is a reserved address, which no rule can allow", ""},
		{[]string{"allow ::/0"}, "@::8.8.8.8", "it is a reserved address, which no rule can allow", ""},
		{[]string{"allow ::/0"}, "@4000::1", "it is a reserved address, which no rule can allow", ""},
		{[]string{"allow 0.0.0.0/0"}, "@224.0.0.1", "it is a multicast or broadcast address, which no rule can allow", ""},
		{[]string{"allow 0.0.0.0/0"}, "@255.255.255.255", "it is a multicast or broadcast address, which no rule can allow", ""},
		{[]string{"allow 0.0.0.0/0"}, "@198.19.0.1", "it is a reserved address, which no rule can allow", ""},

		// Names that are none.
		{[]string{"allow *", "allow 0.0.0.0/0"}, "0177.0.0.1", `"0177.0.0.1" is no host name: some programs take it for an address`, ""},
		{[]string{"allow *", "allow 0.0.0.0/0"}, "134744072", `"134744072" is no host name: some programs take it for an address`, ""},
		{[]string{"allow *", "allow 0.0.0.0/0"}, "0x8080808", `"0x8080808" is no host name: some programs take it for an address`, ""},
		{[]string{"allow *"}, "a\nb.example", `"a\nb.example" is no host name: "a\nb" cannot be a part of one`, ""},

		// The floor.
		{[]string{"allow *", "|", "allow *.corp.example"}, "h.example", "the host's floor does not allow it", floorRemedy},
		{[]string{"allow *", "|", "deny *.evil.org", "allow *"}, "x.evil.org", "the host's floor denies it with `deny *.evil.org` (host)", floorRemedy},
		{[]string{"allow h.example", "|", "allow *"}, "h.example", "allowed by `allow h.example` (box)", ""},
		{[]string{"|", "allow *"}, "h.example", "no rule allows it", "forkbox net allow BOX 'h.example:443'"},
		{[]string{"allow h.example private", "|", "allow *"}, "h.example@10.1.2.3", "the host's floor does not allow it", floorRemedy},

		// Rules about requests.
		{[]string{"allow GET h.example/x"}, "h.example", "allowed by `allow GET h.example/x` (box)", ""},
		{[]string{"deny POST h.example", "allow h.example"}, "h.example", "allowed by `allow h.example` (box)", ""},
		{[]string{"allow GET *"}, "a.pinned.example", "only some requests to it are allowed; the host is pinned, so its requests are not seen", "forkbox net allow BOX 'a.pinned.example:443'"},
		{[]string{"deny POST *", "allow *"}, "a.pinned.example", "denied by `deny POST *` (box); the host is pinned, so its requests are not seen", "forkbox net allow BOX 'a.pinned.example:443'"},

		// The host.
		{nil, "host.forkbox.internal", "it is a port of the host that --host-port names", ""},
		{[]string{"deny *", "|", "deny *"}, "host.forkbox.internal", "it is a port of the host that --host-port names", ""},
		{[]string{"|", "deny host.forkbox.internal:443"}, "host.forkbox.internal", "denied by `deny host.forkbox.internal:443` (host)", ""},
	} {
		p := policyOf(t, opts, c.rules...)
		v := p.Connect(to(c.target))
		if v.Why != c.why || v.Remedy != c.remedy || v.Allowed != (strings.HasPrefix(c.why, "allowed by") || strings.HasPrefix(c.why, "it is a port")) {
			t.Errorf("%q to %s: %+v\nwant %s; %s", c.rules, c.target, v, c.why, c.remedy)
		}
	}
}

func TestConnectOther(t *testing.T) {
	p := policyOf(t, Options{HostPorts: []int{5432}}, "allow any:*", "allow any:0.0.0.0/0")
	for why, target := range map[string]forkbox.NetTarget{
		"only tcp and udp can leave a box":           {Proto: "icmp", Addr: netip.MustParseAddr("8.8.8.8"), Port: 1},
		"it names no port":                           {Proto: "tcp", Host: "h.example"},
		"it names neither a host nor an address":     {Proto: "tcp", Port: 1},
		"no --host-port names this port of the host": {Proto: "tcp", Host: forkbox.HostName, Port: 22},
		"only tcp ports of the host can be reached":  {Proto: "udp", Host: forkbox.HostName, Port: 5432},
	} {
		if v := p.Connect(target); v.Allowed || v.Why != why {
			t.Errorf("%+v; want %s", v, why)
		}
	}
	if !p.HostPort(5432) || p.HostPort(5433) {
		t.Error("ports of the host")
	}
}

// TestName: what is asked before any resolver is.
func TestName(t *testing.T) {
	for _, c := range []struct {
		rules []string
		name  string
		want  bool
	}{
		{nil, "h.example", false},
		{[]string{"allow h.example:443"}, "h.example", true},
		{[]string{"allow udp:h.example:123"}, "H.EXAMPLE.", true},
		{[]string{"allow GET h.example/x"}, "h.example", true},
		{[]string{"allow 203.0.113.0/24"}, "h.example", false},
		{[]string{"deny h.example", "allow *"}, "h.example", false},
		{[]string{"deny h.example:443", "allow *"}, "h.example", true},
		{[]string{"deny h.example:443", "allow *:443"}, "h.example", false},
		{[]string{"deny h.example:1-65535", "allow *"}, "h.example", false},
		{[]string{"deny h.example:1-65534", "allow *"}, "h.example", true},
		{[]string{"deny any:h.example", "allow any:*"}, "h.example", false},
		{[]string{"deny h.example", "allow any:*"}, "h.example", false},
		{[]string{"deny tcp:h.example", "allow any:*"}, "h.example", true},
		{[]string{"deny POST h.example", "allow *"}, "h.example", true},
		{[]string{"allow *"}, "127.0.0.1", false},
		{[]string{"allow *"}, "2130706433", false},
		{[]string{"allow *"}, "host.forkbox.internal", false},
		{[]string{"allow *:443", "|", "allow *:80"}, "h.example", false},
		{[]string{"allow *", "|", "allow *:80"}, "h.example", true},
		{[]string{"allow *", "|", "allow 203.0.113.0/24"}, "h.example", true},
		{[]string{"allow *", "|", "deny h.example", "allow *"}, "h.example", false},
		{[]string{"allow udp:*", "|", "allow *"}, "h.example", false},
	} {
		v := policyOf(t, Options{}, c.rules...).Name(c.name)
		if v.Allowed != c.want || v.Why == "" || !c.want && c.name == "h.example" && v.Remedy == "" {
			t.Errorf("%q, %s: %+v", c.rules, c.name, v)
		}
	}
	if v := policyOf(t, Options{HostPorts: []int{1}}).Name(forkbox.HostName); !v.Allowed {
		t.Error(v)
	}
}

// TestDenies: an alias counts as denied only where a rule says so itself.
func TestDenies(t *testing.T) {
	for _, c := range []struct {
		rules []string
		want  string
	}{
		{nil, ""},
		{[]string{"deny *"}, ""},
		{[]string{"deny *.evil.org"}, "deny *.evil.org"},
		{[]string{"allow *", "deny *.evil.org"}, "deny *.evil.org"}, // over udp
		{[]string{"allow *", "deny tcp:*.evil.org"}, ""},
		{[]string{"allow any:*", "deny *.evil.org"}, ""},
		{[]string{"allow any:x.evil.org", "deny *.evil.org"}, ""},
		{[]string{"deny *.evil.org:25"}, "deny *.evil.org:25"},
		{[]string{"deny GET *.evil.org"}, ""},
		{[]string{"allow any:*", "|", "allow *:443", "deny x.evil.org"}, "deny x.evil.org"},
	} {
		rule, denied := policyOf(t, Options{}, c.rules...).Denies("x.evil.org")
		if rule.Rule != c.want || denied != (c.want != "") {
			t.Errorf("%q: %+v", c.rules, rule)
		}
	}
}

func TestAnswer(t *testing.T) {
	p := policyOf(t, Options{Own: own198}, "deny 203.0.113.0/24", "allow *.example:443", "allow udp:corp.example:53 private", "allow 10.0.0.0/8")
	for answer, want := range map[string]bool{
		"h.example@198.51.100.1": true, "h.example@203.0.113.1": false, "h.example@::ffff:203.0.113.1": false, "h.example@2001:db8::1": true,
		"h.example@10.0.0.1": true, "h.example@192.168.0.1": false, "corp.example@192.168.0.1": true, "corp.example@192.168.1.5": false,
		"corp.example@127.0.0.1": false, "corp.example@169.254.169.254": false, "other.org@198.51.100.1": false, "h.example@::": false,
	} {
		a := to(answer)
		if p.Answer(a.Host, a.Addr) != want {
			t.Errorf("%s: %v", answer, !want)
		}
	}
	if p.Answer("h.example", netip.Addr{}) || p.Answer("1", netip.MustParseAddr("8.8.8.8")) {
		t.Error("nothing was given out")
	}
}
