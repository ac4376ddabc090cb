package rules

import "net/netip"

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
