package rules

import (
	"net/netip"
	"slices"
)

// place is an address that somebody wants to reach, and what is known of it.
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
