package rules

import (
	"net/netip"
	"slices"
)

// place is an address that a box wants to reach, and what is known of it.
type place struct {
	addr  netip.Addr   // IPv4 as such, never mapped; no zone
	other []netip.Addr // the IPv4 addresses that a tunnel's address stands for
	class class
	block block
}

// placeOf says what an address is. The host's own are asked for each time: they
// change while boxes run.
func (p *Policy) placeOf(addr netip.Addr) place {
	if !addr.IsValid() {
		return place{}
	}
	at := place{addr: addr.Unmap().WithZone("")}
	if b, is := blockOf(at.addr); is {
		at.class, at.block = b.class, b
	}
	if at.class < own && p.isOwn(at.addr) {
		at.class = own
	}
	at.other = tunnelled(at.addr)
	for _, a := range at.other {
		// In its plain form it may be named, in disguise never.
		if _, is := blockOf(a); at.class < own && (is || p.isOwn(a)) {
			at.class = reserved
		}
	}
	return at
}

func (p *Policy) isOwn(addr netip.Addr) bool {
	return p.own != nil && slices.ContainsFunc(p.own(), func(a netip.Addr) bool { return a.Unmap().WithZone("") == addr })
}

// tunnels are the forms of IPv6 with an IPv4 address in them, from the byte at.
var tunnels = []struct {
	prefix netip.Prefix
	at     int
	flip   byte // Teredo hides the client's
}{
	{netip.MustParsePrefix("2002::/16"), 2, 0},     // 6to4
	{netip.MustParsePrefix("64:ff9b::/96"), 12, 0}, // NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12, 0},
	{netip.MustParsePrefix("2001::/32"), 4, 0}, // Teredo's server
	{netip.MustParsePrefix("2001::/32"), 12, 0xff},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12, 0}, // translated
	{netip.MustParsePrefix("::/96"), 12, 0},           // compatible
}

func tunnelled(addr netip.Addr) []netip.Addr {
	var all []netip.Addr
	for _, t := range tunnels {
		if !addr.Is6() || !t.prefix.Contains(addr) {
			continue
		}
		bytes := addr.As16()
		var inner [4]byte
		for i := range inner {
			inner[i] = bytes[t.at+i] ^ t.flip
		}
		all = append(all, netip.AddrFrom4(inner))
	}
	return all
}

// in says whether the place is in a range, also in disguise where a rule denies.
func (at place) in(prefix netip.Prefix, allow bool) bool {
	if !at.addr.IsValid() {
		return false
	}
	return prefix.Contains(at.addr) || !allow && slices.ContainsFunc(at.other, prefix.Contains)
}

// opens says whether an allowing rule that is about the place may open it.
func (at place) opens(e entry) bool {
	byRange := e.Host == ""
	switch at.class {
	case public:
		return true
	case private, cgnat:
		return byRange && at.block.names(e.Prefix) || !byRange && e.Private
	case linkLocal, metadata:
		return byRange && at.block.names(e.Prefix)
	case own:
		return byRange && e.Prefix.IsSingleIP() && !e.project
	}
	return false
}

// class says what kind of address one is, and so which rules open it.
type class int

const (
	public    class = iota // any rule that matches
	private                // a rule for such a range, or a name with "private"
	cgnat                  // the same
	linkLocal              // a rule for such a range
	metadata               // the same
	own                    // a rule for exactly this address
	loopback               // none: --host-port is there for that
	multicast              // none
	reserved               // none
)

var classNames = map[class]string{
	private: "a private address", cgnat: "a carrier's private address", linkLocal: "a link-local address",
	metadata: "the address of a cloud's metadata service", own: "the host's own address", loopback: "a loopback address",
	multicast: "a multicast or broadcast address", reserved: "a reserved address",
}

// block is a range of special addresses. A rule names it whose own range lies
// in it, or in the range that it is a part of: 0.0.0.0/0 names none.
type block struct {
	prefix netip.Prefix
	class  class
	within netip.Prefix
}

func special(prefix string, c class) block {
	p := netip.MustParsePrefix(prefix)
	return block{p, c, p}
}

func partOf(whole, prefix string, c class) block {
	return block{netip.MustParsePrefix(prefix), c, netip.MustParsePrefix(whole)}
}

// blocks is in order: the first that has an address counts.
var blocks = []block{
	// Metadata services hand out the credentials of a cloud machine.
	partOf("169.254.0.0/16", "169.254.169.253/32", metadata), // AWS: DNS
	partOf("169.254.0.0/16", "169.254.169.254/32", metadata), // most clouds
	partOf("169.254.0.0/16", "169.254.170.2/32", metadata),   // AWS: containers
	partOf("169.254.0.0/16", "169.254.170.23/32", metadata),  // AWS: pods
	partOf("100.64.0.0/10", "100.100.100.200/32", metadata),  // Alibaba
	special("192.0.0.192/32", metadata),                      // Oracle
	special("168.63.129.16/32", metadata),                    // Azure
	partOf("fc00::/7", "fd00:ec2::/32", metadata),            // AWS
	partOf("fc00::/7", "fd20:ce::254/128", metadata),         // Google

	// The gate's own: what a box finds there never comes from outside.
	special("198.18.0.0/15", reserved),
	special("fd66:6f72:6b00::/48", reserved),

	special("10.0.0.0/8", private),
	special("172.16.0.0/12", private),
	special("192.168.0.0/16", private),
	special("100.64.0.0/10", cgnat),
	special("169.254.0.0/16", linkLocal),
	special("127.0.0.0/8", loopback),
	special("0.0.0.0/8", loopback), // Linux takes 0.0.0.0 for it
	special("224.0.0.0/4", multicast),
	special("255.255.255.255/32", multicast),
	special("240.0.0.0/4", reserved),
	special("192.0.0.0/24", reserved),
	special("192.88.99.0/24", reserved), // 6to4 relays

	special("::1/128", loopback),
	special("::/128", loopback),
	special("fc00::/7", private),
	special("fe80::/10", linkLocal),
	special("ff00::/8", multicast),
	special("100::/64", reserved),
}

// global is where the public addresses of IPv6 are, and nat64 what leads to
// IPv4's from networks that have none.
var (
	global = netip.MustParsePrefix("2000::/3")
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
)

func blockOf(a netip.Addr) (block, bool) {
	for _, b := range blocks {
		if b.prefix.Contains(a) {
			return b, true
		}
	}
	if a.Is6() && !global.Contains(a) && !nat64.Contains(a) {
		return special("::/0", reserved), true
	}
	return block{}, false
}

// names says whether a rule's range is meant for the block.
func (b block) names(p netip.Prefix) bool {
	return p.Bits() >= b.within.Bits() && b.within.Contains(p.Addr())
}

// nearby says whether the rule opens addresses that are not public.
func (r Rule) nearby() bool {
	if !r.Allow || r.Host != "" {
		return r.Allow && r.Private
	}
	for _, b := range blocks {
		if b.class < loopback && b.names(r.Prefix) {
			return true
		}
	}
	return false
}

// futile is what the rule is about if that can never be allowed.
func (r Rule) futile() (class, bool) {
	if !r.Allow || r.Host != "" {
		return public, false
	}
	for _, b := range blocks {
		if b.names(r.Prefix) {
			return b.class, b.class >= loopback
		}
	}
	return public, false
}
