package rules

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// place reads what is left when the other words are gone: protocol, target,
// ports and a path that follows at once.
func (p *parser) place(words []string) ([]string, error) {
	switch {
	case len(words) == 0:
		return nil, p.bad("the host is missing")
	case len(words) > 1:
		return nil, p.bad("%q is too much", strings.Join(words[1:], " "))
	}
	text := words[0]
	if strings.Contains(text, "://") {
		return nil, p.bad("%q is a URL", text).Hint("write host, port and path alone: api.example.com:443/v1/**")
	}
	for _, proto := range []string{"tcp", "udp", "any"} {
		if rest, has := strings.CutPrefix(text, proto+":"); has {
			p.rule.Proto, text = proto, rest
			break
		}
	}
	return nil, p.target(text)
}

func (p *parser) target(text string) error {
	if rest, bracket := strings.CutPrefix(text, "["); bracket {
		return p.parseBracketed(rest)
	}
	if prefix, ok := parsePrefix(text); ok {
		return p.setPrefix(text, prefix)
	}
	if i := strings.LastIndex(text, ":"); i > 0 {
		if prefix, ok := parsePrefix(text[:i]); ok {
			return p.addressPorts(text[:i], prefix, text[i+1:])
		}
	}
	return p.host(text)
}

// parseBracketed is an IPv6 address or range that ports can follow.
func (p *parser) parseBracketed(text string) error {
	inner, after, closed := strings.Cut(text, "]")
	prefix, ok := parsePrefix(inner)
	if !closed || !ok || !strings.Contains(inner, ":") {
		return p.bad("%q is no IPv6 address or range in brackets", "["+text).Hint("for example [2001:db8::/32]:443")
	}
	if err := p.setPrefix(inner, prefix); err != nil || after == "" {
		return err
	}
	ports, colon := strings.CutPrefix(after, ":")
	if !colon {
		return p.bad("%q follows the address", after).Hint("a range has its length within the brackets: [2001:db8::/32]:443")
	}
	return p.setPorts(ports)
}

func (p *parser) addressPorts(text string, prefix netip.Prefix, ports string) error {
	if strings.Contains(text, ":") {
		return p.bad("%q needs brackets where ports follow", text).Hint("[%s]:%s", text, ports)
	}
	if err := p.setPrefix(text, prefix); err != nil {
		return err
	}
	return p.setPorts(ports)
}

func (p *parser) host(text string) error {
	if i := strings.Index(text, "/"); i >= 0 {
		if err := p.setPath(text[i:]); err != nil {
			return err
		}
		text = text[:i]
	}
	if strings.Count(text, ":") > 1 {
		return p.bad("%q is neither a host with ports nor an address", text)
	}
	name, ports, has := strings.Cut(text, ":")
	if has {
		if err := p.setPorts(ports); err != nil {
			return err
		}
	}
	host, err := ParseHost(name)
	if err != nil {
		return p.bad("%s", whyOf(err))
	}
	if len(p.rule.Methods) == 0 && isMethod(name) && slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, name) {
		return p.bad("%q is a method, and its host is missing", name)
	}
	p.rule.Host = host
	return nil
}

// parsePrefix is strict: no zeros in front, no parts left out, no zones.
func parsePrefix(text string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix, err == nil
}

// setPrefix has IPv4 in IPv6's clothes counted as IPv4: it is the same address
// to the kernel.
func (p *parser) setPrefix(text string, prefix netip.Prefix) error {
	if a := prefix.Addr(); a.Is4In6() {
		if prefix.Bits() < 96 {
			return p.bad("%q is a range of IPv4 and more", text).Hint("write the IPv4 addresses as such")
		}
		prefix = netip.PrefixFrom(a.Unmap(), prefix.Bits()-96)
	}
	if prefix != prefix.Masked() {
		return p.bad("%q is not where a range of that length begins", text).
			Hint("%s is the range, %s the address alone", prefix.Masked(), prefix.Addr())
	}
	p.rule.Prefix = prefix
	return nil
}

func (p *parser) setPorts(text string) error {
	parts := strings.Split(text, ",")
	if len(parts) > mostPorts {
		return p.bad("%d ports are too many, %d is the most", len(parts), mostPorts).Hint("ranges count once: 8000-8999")
	}
	for _, part := range parts {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, b := port(first), port(last)
		if a == 0 || b < a {
			return p.bad("%q is no port", part).Hint("for example 443, 80-90 or 443,8443")
		}
		p.rule.Ports = append(p.rule.Ports, Ports{a, b})
	}
	return nil
}

// port is 0 for what is none. Only plain digits are taken.
func port(text string) int {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0
	}
	return int(n)
}
