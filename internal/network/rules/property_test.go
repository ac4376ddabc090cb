package rules

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

// Few values, so that they often meet.
var (
	drawHost    = rapid.SampledFrom([]string{"h.example", "a.h.example", "b.a.h.example", "example", "xh.example", "o.org"})
	drawPattern = rapid.SampledFrom([]string{"h.example", "*.h.example", "*.example", "*", "a.h.example", "o.org"})
	drawPrefix  = rapid.SampledFrom([]string{"203.0.113.0/24", "203.0.113.7/32", "0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "192.168.0.0/16", "192.168.1.5/32",
		"2001:db8::/32", "::/0", "fd00::/8", "169.254.0.0/16", "100.64.0.0/10"})
	drawAddr = rapid.SampledFrom([]string{"203.0.113.7", "203.0.113.8", "198.51.100.1", "10.1.2.3", "10.2.0.1", "192.168.1.5", "192.168.1.6", "2001:db8::7", "fd12::1",
		"169.254.169.254", "100.64.0.1", "127.0.0.1", "0.0.0.0", "224.0.0.1", "::1", "240.0.0.1", "64:ff9b::10.1.2.3"})
	drawPorts = rapid.SampledFrom([]Ports{{443, 443}, {80, 90}, {1, 1023}, {8443, 8443}})
	drawPort  = rapid.SampledFrom([]int{443, 80, 85, 8443, 9999})
	drawProto = rapid.SampledFrom([]string{"tcp", "udp"})
)

func drawRule(t *rapid.T) Rule {
	r := Rule{Allow: rapid.Bool().Draw(t, "allow"), Proto: rapid.SampledFrom([]string{"tcp", "udp", "any"}).Draw(t, "proto")}
	if rapid.Bool().Draw(t, "has ports") {
		r.Ports = rapid.SliceOfN(drawPorts, 1, 2).Draw(t, "ports")
	}
	if rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
		r.Prefix = netip.MustParsePrefix(drawPrefix.Draw(t, "range"))
		return r
	}
	r.Host = drawPattern.Draw(t, "host")
	r.Private = r.Allow && rapid.Bool().Draw(t, "private")
	return r
}

func drawRules(t *rapid.T, name string) []Rule {
	return rapid.SliceOfN(rapid.Custom(drawRule), 0, 5).Draw(t, name)
}

func written(rules []Rule, from string) []forkbox.NetRule {
	var all []forkbox.NetRule
	for _, r := range rules {
		all = append(all, forkbox.NetRule{Rule: r.String(), From: from})
	}
	return all
}

func drawTarget(t *rapid.T) forkbox.NetTarget {
	target := forkbox.NetTarget{Proto: drawProto.Draw(t, "proto"), Port: drawPort.Draw(t, "port"), Addr: netip.MustParseAddr(drawAddr.Draw(t, "addr"))}
	if rapid.Bool().Draw(t, "by name") {
		target.Host = drawHost.Draw(t, "host")
	}
	return target
}

var testOwn = netip.MustParseAddr("192.168.1.5")

// naive judges as the manual has it, without any of the code under test.
func naive(rules []Rule, t forkbox.NetTarget) bool {
	for _, r := range rules {
		if naiveMatch(r, t) {
			return r.Allow
		}
	}
	return false
}

func naiveMatch(r Rule, t forkbox.NetTarget) bool {
	port := len(r.Ports) == 0
	for _, p := range r.Ports {
		port = port || p.First <= t.Port && t.Port <= p.Last
	}
	if !port || r.Proto != "any" && r.Proto != t.Proto {
		return false
	}
	if r.Host == "" {
		inside := r.Prefix.Contains(t.Addr)
		if t.Addr.String() == "64:ff9b::a01:203" && !r.Allow {
			inside = inside || r.Prefix.Contains(netip.MustParseAddr("10.1.2.3"))
		}
		return inside && (!r.Allow || naiveOpens(r, t.Addr))
	}
	name := r.Host == "*" || r.Host == t.Host || strings.HasPrefix(r.Host, "*.") && strings.HasSuffix(t.Host, r.Host[1:])
	return t.Host != "" && name && (!r.Allow || naiveOpens(r, t.Addr))
}

func naiveOpens(r Rule, a netip.Addr) bool {
	cgnat := netip.MustParsePrefix("100.64.0.0/10").Contains(a)
	narrow := r.Host == "" && r.Prefix.Bits() >= 7
	switch {
	case a == testOwn:
		return r.Host == "" && r.Prefix.IsSingleIP()
	case a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() || a.String() == "240.0.0.1" || a.String() == "64:ff9b::a01:203":
		return false
	case a.IsPrivate() || cgnat:
		return r.Private || narrow
	case a.IsLinkLocalUnicast():
		return narrow
	}
	return true
}

func mustNew(t *rapid.T, rules, floor []Rule) *Policy {
	p, err := New(written(rules, "box"), written(floor, "host"), Options{Own: func() []netip.Addr { return []netip.Addr{testOwn} }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPolicyProperties: promises that hold for all rules and targets.
func TestPolicyProperties(t *testing.T) {
	t.Run("the first match decides", rapid.MakeCheck(func(t *rapid.T) {
		rules, target := drawRules(t, "rules"), drawTarget(t)
		if v := mustNew(t, rules, nil).Connect(target); v.Allowed != naive(rules, target) {
			t.Fatalf("%v: %+v", rules, v)
		}
	}))
	t.Run("the floor only narrows", rapid.MakeCheck(func(t *rapid.T) {
		rules, floor, target := drawRules(t, "rules"), drawRules(t, "floor"), drawTarget(t)
		want := naive(rules, target) && (len(floor) == 0 || naive(floor, target))
		if v := mustNew(t, rules, floor).Connect(target); v.Allowed != want {
			t.Fatalf("%v | %v: %+v", rules, floor, v)
		}
	}))
	t.Run("names alone never open what is special", rapid.MakeCheck(func(t *rapid.T) {
		rules, target := drawRules(t, "rules"), drawTarget(t)
		target.Host = drawHost.Draw(t, "host")
		for i := range rules {
			if rules[i].Private = false; rules[i].Host == "" {
				rules[i] = Rule{Allow: true, Proto: "any", Host: "*"}
			}
		}
		p := mustNew(t, rules, nil)
		if at := p.placeOf(target.Addr); at.class != public && (p.Connect(target).Allowed || p.Answer(target.Host, target.Addr)) {
			t.Fatalf("%v: %s", rules, target.Addr)
		}
	}))
	t.Run("IPv4 in IPv6 is IPv4", rapid.MakeCheck(func(t *rapid.T) {
		rules, floor, target := drawRules(t, "rules"), drawRules(t, "floor"), drawTarget(t)
		if !target.Addr.Is4() {
			t.Skip()
		}
		p, mapped := mustNew(t, rules, floor), target
		mapped.Addr = netip.AddrFrom16(target.Addr.As16())
		if a, b := p.Connect(target), p.Connect(mapped); a != b {
			t.Fatalf("%+v and %+v", a, b)
		}
	}))
}

// TestAskedEarly: before names are resolved, and when addresses are given out,
// nothing is refused that a connection would be allowed, and nothing is given
// out of which no port could be reached.
func TestAskedEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, floor, target := drawRules(t, "rules"), drawRules(t, "floor"), drawTarget(t)
		target.Host = drawHost.Draw(t, "host")
		p := mustNew(t, rules, floor)
		some := false
		for _, target.Proto = range protos {
			for _, target.Port = range []int{443, 80, 85, 8443, 9999, 1, 1000} {
				some = some || p.Connect(target).Allowed
			}
		}
		if got := p.Answer(target.Host, target.Addr); got != some {
			t.Fatalf("%v | %v: %s %s: answer %v", rules, floor, target.Host, target.Addr, got)
		}
		byName := namesOnly(rules)
		if early := mustNew(t, byName, floor); early.Answer(target.Host, target.Addr) && !early.Name(target.Host).Allowed {
			t.Fatalf("%v | %v: %s is not resolved", byName, floor, target.Host)
		}
	})
}

func namesOnly(rules []Rule) (all []Rule) {
	for _, r := range rules {
		if r.Host != "" {
			all = append(all, r)
		}
	}
	return all
}

// TestRemedies: the command that a verdict names does help, where it is one.
func TestRemedies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, target := drawRules(t, "rules"), drawTarget(t)
		v := mustNew(t, rules, nil).Connect(target)
		object, is := strings.CutPrefix(v.Remedy, "forkbox net allow BOX '")
		if !is {
			return
		}
		r, err := Parse("allow " + strings.TrimSuffix(object, "'"))
		if err != nil {
			t.Fatalf("%s: %v", v.Remedy, err)
		}
		if again := mustNew(t, append([]Rule{r}, rules...), nil).Connect(target); !again.Allowed {
			t.Fatalf("%s: %+v", v.Remedy, again)
		}
	})
}
