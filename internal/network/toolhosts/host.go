package toolhosts

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// host is one that a rule can name.
type host struct {
	text    string // with its port
	literal bool   // it is an address
}

// usualPorts are those of the schemes that tools use.
var usualPorts = map[string]int{"http": 80, "https": 443, "ssh": 22, "git": 9418, "git+ssh": 22, "ssh+git": 22, "socks5": 1080, "socks5h": 1080, "socks4": 1080, "socks4a": 1080, "socks": 1080}

// hostOf is whom a URL leads to. Names and passwords in it are dropped.
func hostOf(text string) (host, bool) {
	scheme, rest, has := strings.Cut(strings.TrimSpace(text), "://")
	scheme = strings.ToLower(scheme)
	usual, known := usualPorts[scheme]
	if !has || !known || len(text) > 2048 {
		return host{}, false
	}
	// Only what is before the path: the rest may be a template that is no URL.
	authority := rest
	if i := strings.IndexAny(rest, "/?#\\"); i >= 0 {
		authority = rest[:i]
	}
	authority = authority[strings.LastIndexByte(authority, '@')+1:]
	u, err := url.Parse("x://" + authority)
	if err != nil {
		return host{}, false
	}
	port := usual
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
			return host{}, false
		}
	}
	return named(u.Hostname(), port)
}

// named takes what the policy takes for a host; what is on the host's loopback
// is not reached by a rule but with --host-port.
func named(name string, port int) (host, bool) {
	suffix := ":" + strconv.Itoa(port)
	if addr, err := netip.ParseAddr(name); err == nil {
		addr = addr.Unmap()
		text := addr.String()
		if addr.Is6() {
			text = "[" + text + "]"
		}
		return host{text + suffix, true}, ordinary(addr)
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return host{name + suffix, false}, isName(name)
}

// ordinary is an address that a rule can allow.
func ordinary(addr netip.Addr) bool {
	if !addr.IsGlobalUnicast() || addr.Zone() != "" {
		return false
	}
	for _, never := range []string{"0.0.0.0/8", "198.18.0.0/15", "192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4", "fd66:6f72:6b00::/48", "100::/64"} {
		if netip.MustParsePrefix(never).Contains(addr) {
			return false
		}
	}
	return true
}

func isName(name string) bool {
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || strings.Trim(label, "-") != label {
			return false
		}
	}
	last := labels[len(labels)-1]
	if strings.Trim(strings.TrimPrefix(last, "0x"), "0123456789abcdef") == "" && strings.Trim(last[:1], "0123456789") == "" {
		return false // some programs take it for an address
	}
	switch name {
	case "tcp", "udp", "any", "private":
		return false // words of the grammar
	}
	return len(name) <= 253 && last != "localhost"
}
