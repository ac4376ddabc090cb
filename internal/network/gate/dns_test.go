//go:build linux

package gate

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/miekg/dns"
)

var pool = netip.MustParsePrefix("198.19.0.0/16")

func TestNamesThatNothingAllowsAreNotAskedFor(t *testing.T) {
	f := open(t, "allow good.example")
	for i := range 300 {
		name := fmt.Sprintf("secret%d.tunnel.evil.example", i)
		for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeTXT, dns.TypeNULL, dns.TypeMX, dns.TypeCNAME, dns.TypeHTTPS}[i%7:][:1] {
			m := f.lookup(name, qtype)
			if m.Rcode != dns.RcodeSuccess {
				t.Fatalf("%s: %v", name, m)
			}
			for _, rr := range m.Answer {
				if a, is := rr.(*dns.A); !is || qtype != dns.TypeA || !pool.Contains(netip.AddrFrom4([4]byte(a.A.To4()))) {
					t.Errorf("%s: %v", name, rr)
				}
			}
		}
	}
	if n := f.askedAny("evil.example"); n != 0 {
		t.Errorf("the world was asked %d times", n)
	}
	f.gate.Close()
	c := f.wantRecord("the tunnel", func(c forkbox.Conn) bool {
		return c.Target.Proto == "dns" && strings.HasSuffix(c.Target.Host, ".tunnel.evil.example")
	})
	if c.Times < 200 || c.State != forkbox.ConnRefused || len(f.records()) > 3 {
		t.Errorf("%d records, one is %+v", len(f.records()), c)
	}
}

func TestAnswers(t *testing.T) {
	f := open(t, "allow good.example\nallow 10.0.0.0/8:99\ndeny bad.example\nallow *.alias.example")
	f.name("good.example", "60 A 203.0.113.1", "60 A 203.0.113.2", "60 AAAA 2001:db8::1", "60 TXT \"text\"", "60 MX 10 mx.example.", `60 HTTPS 1 . ech="AEX+DQ==" ipv4hint=203.0.113.9`)
	f.name("_ssh._tcp.good.example", "60 SRV 1 1 22 good.example.")
	f.name("far.alias.example", "60 CNAME near.other.example.")
	f.name("near.other.example", "60 A 203.0.113.3")
	f.name("denied.alias.example", "60 CNAME bad.example.")
	f.name("bad.example", "60 A 203.0.113.4")
	for _, c := range []struct {
		name  string
		qtype uint16
		want  string // "RCODE: answers"
	}{
		{"good.example", dns.TypeA, "NOERROR: 203.0.113.1 203.0.113.2"},
		{"GoOd.ExAmPlE", dns.TypeA, "NOERROR: 203.0.113.1 203.0.113.2"},
		{"good.example", dns.TypeAAAA, "NOERROR: 2001:db8::1"},
		{"good.example", dns.TypeTXT, `NOERROR: "text"`},
		{"good.example", dns.TypeMX, "NOERROR: 10 mx.example."},
		{"good.example", dns.TypeHTTPS, "NOERROR:"},
		{"good.example", dns.TypeSVCB, "NOERROR:"},
		{"good.example", dns.TypeANY, "REFUSED:"},
		{"_ssh._tcp.good.example", dns.TypeSRV, "NOERROR: 1 1 22 good.example."},
		{"far.alias.example", dns.TypeA, "NOERROR: 203.0.113.3"},
		{"none.alias.example", dns.TypeA, "NXDOMAIN:"},
		{"localhost", dns.TypeA, "NOERROR: 127.0.0.1"},
		{"localhost", dns.TypeAAAA, "NOERROR: ::1"},
		{forkbox.HostName, dns.TypeA, "NOERROR: 198.18.0.1"},
		{forkbox.HostName, dns.TypeAAAA, "NOERROR:"},
		{"2130706433", dns.TypeA, "NXDOMAIN:"},
		{"0177.0.0.1", dns.TypeA, "NXDOMAIN:"},
		{"0x7f.1", dns.TypeA, "NXDOMAIN:"},
		{"bad.example", dns.TypeAAAA, "NOERROR:"},
		{"1.113.0.203.in-addr.arpa", dns.TypePTR, "NXDOMAIN:"},
	} {
		for _, network := range []string{"udp", "tcp"} {
			q := new(dns.Msg).SetQuestion(dns.Fqdn(c.name), c.qtype)
			server := map[string]string{"udp": "198.18.0.1:53", "tcp": "[fd66:6f72:6b00::1]:53"}[network]
			if got := short(f.ask(network, server, q)); got != c.want {
				t.Errorf("%s %s by %s: got %q, want %q", c.name, dns.TypeToString[c.qtype], network, got, c.want)
			}
		}
	}
	if addr := f.resolve("denied.alias.example"); !pool.Contains(addr) {
		t.Errorf("an alias of a denied name has the address %v", addr)
	}
	_, err := f.dialName("denied.alias.example", 443)
	wantRefused(t, err)
	f.wantRecord("the alias", func(c forkbox.Conn) bool {
		return c.Target.Host == "denied.alias.example" && c.Target.Port == 443 && c.Rule.Rule == "deny bad.example" && strings.Contains(c.Why, "bad.example")
	})
	if n := f.timesAsked("good.example"); n > 5 {
		t.Errorf("the world was asked %d times for what is remembered", n)
	}
}

// short is an answer in a line.
func short(m *dns.Msg) string {
	text := dns.RcodeToString[m.Rcode] + ":"
	for _, rr := range m.Answer {
		text += " " + strings.TrimPrefix(rr.String(), rr.Header().String())
	}
	return text
}

func TestNameThatPointsInsideIsRefused(t *testing.T) {
	f := open(t, "allow *")
	for name, addr := range map[string]string{
		"metadata.example": "169.254.169.254",
		"lan.example":      "10.1.2.3",
		"me.example":       "127.0.0.1",
		"zero.example":     "0.0.0.0",
		"gate.example":     "198.18.0.1",
		"pool.example":     "198.19.0.77",
	} {
		f.name(name, "60 A "+addr)
		f.tcp(addr+":80", echo)
		f.tcp(addr+":443", echo)
		if got := f.resolve(name); !pool.Contains(got) || got.String() == addr {
			t.Errorf("%s has the address %v", name, got)
		}
		_, err := f.dialName(name, 443)
		wantRefused(t, err)
		c := f.wantRecord(name, func(c forkbox.Conn) bool { return c.Target.Host == name })
		if c.Target.Addr.String() != addr || c.Target.Port != 443 || c.State != forkbox.ConnRefused {
			t.Errorf("the record is %+v", c)
		}
	}
	f.name("six.example", "60 AAAA ::ffff:10.0.0.1", "60 AAAA fe80::1", "60 AAAA ::1", "60 AAAA fd00::1", "60 AAAA 64:ff9b::a00:1", "60 AAAA 2002:a00:1::")
	if got := short(f.lookup("six.example", dns.TypeAAAA)); got != "NOERROR:" {
		t.Errorf("got %q", got)
	}
	if calls := f.calls(); len(calls) != 0 {
		t.Errorf("the gate called %v", calls)
	}
}

func TestRebindingDoesNotMovePins(t *testing.T) {
	f := open(t, "allow good.example:443")
	f.name("good.example", "0 A 203.0.113.1")
	f.tcp("203.0.113.1:443", echo)
	f.tcp("10.0.0.1:443", echo)
	if _, err := f.dialName("good.example", 443); err != nil {
		t.Fatal(err)
	}
	f.name("good.example", "0 A 10.0.0.1")
	_, err := f.box.dial("tcp", "10.0.0.1:443")
	wantRefused(t, err)
	f.wantRecord("the raw address", func(c forkbox.Conn) bool {
		return c.Target.Addr.String() == "10.0.0.1" && c.State == forkbox.ConnRefused
	})
	for _, call := range f.calls() {
		if call != "tcp 203.0.113.1:443" {
			t.Errorf("the gate called %s", call)
		}
	}
}

func TestLargeAnswerComesByTCP(t *testing.T) {
	f := open(t, "allow big.example")
	var records []string
	for i := range 200 {
		records = append(records, fmt.Sprintf("60 A 203.0.113.%d", i))
	}
	f.name("big.example", records...)
	if m := f.lookup("big.example", dns.TypeA); !m.Truncated {
		t.Errorf("by UDP %d records came", len(m.Answer))
	}
	q := new(dns.Msg).SetQuestion("big.example.", dns.TypeA)
	if m := f.ask("tcp", "198.18.0.1:53", q); m.Truncated || len(m.Answer) != 200 {
		t.Errorf("by TCP %d records came", len(m.Answer))
	}
}

// TestServiceNamesCarryLittle: the name servers of an allowed host hear of its
// services, but not of whatever a box puts before its name.
func TestServiceNamesCarryLittle(t *testing.T) {
	f := open(t, "allow api.example.com:443\nallow *.glob.example")
	long, longest := strings.Repeat("a", 17), strings.Repeat("b", 60)
	for _, c := range []struct {
		name  string
		qtype uint16
		asked bool
	}{
		{"_https._tcp", dns.TypeSRV, true},
		{"_443._tcp", dns.TypeTLSA, true},
		{"_acme-challenge", dns.TypeTXT, true},
		{"_" + long[:16] + "._" + long[:16], dns.TypeTXT, true},
		{"_" + long, dns.TypeTXT, false},
		{"_x._" + long, dns.TypeSRV, false},
		{"_" + longest + "._" + longest, dns.TypeTXT, false},
		{"_a._b._c", dns.TypeSRV, false},
		{"_", dns.TypeTXT, false},
		{"_a_b", dns.TypeTXT, false},
		{"__a", dns.TypeTXT, false},
		{"data", dns.TypeTXT, false},
		{"_a.data", dns.TypeTXT, false},
		{"data._tcp", dns.TypeTXT, false},
		{"_addr4", dns.TypeA, false},
		{"_addr._tcp", dns.TypeA, false},
		{"_addr6", dns.TypeAAAA, false},
		{"_" + longest + "._" + longest, dns.TypeA, false},
	} {
		name := c.name + ".api.example.com"
		f.name(name)
		before := f.timesAsked(name)
		m := f.lookup(name, c.qtype)
		if asked := f.timesAsked(name) > before; asked != c.asked || m.Rcode != dns.RcodeSuccess {
			t.Errorf("%s %s: asked outside: %v, %s", name, dns.TypeToString[c.qtype], asked, dns.RcodeToString[m.Rcode])
		}
	}
	f.name("_x.a.glob.example", "60 A 203.0.113.1")
	if got := short(f.lookup("_x.a.glob.example", dns.TypeA)); got != "NOERROR: 203.0.113.1" {
		t.Errorf("a name with an underscore that a rule allows: %q", got)
	}
}
