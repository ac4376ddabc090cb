//go:build linux

package gate

import (
	"strings"
	"testing"

	"github.com/miekg/dns"
)

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
