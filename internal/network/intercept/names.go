package intercept

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// badHostField refuses a head that names several hosts. An absolute target names
// one as well, and net/http forgets the other.
func badHostField(target string, hosts []string) string {
	if len(hosts) > 1 {
		return "it has more than one Host"
	}
	scheme, rest, absolute := strings.Cut(target, "://")
	if !absolute || strings.HasPrefix(target, "/") {
		return ""
	}
	authority, _, _ := strings.Cut(rest, "/")
	authority, _, _ = strings.Cut(authority, "?")
	if len(hosts) == 1 && !sameAuthority(authority, hosts[0], strings.ToLower(scheme)) {
		return "its target and its Host name different hosts"
	}
	return ""
}

func sameAuthority(a, b, scheme string) bool {
	hostA, portA, okA := splitAuthority(a, scheme)
	hostB, portB, okB := splitAuthority(b, scheme)
	return okA && okB && hostA == hostB && portA == portB
}

// splitAuthority reads "host", "host:port" and "[address]:port"; without a port
// it is the scheme's. User names are not part of a Host.
func splitAuthority(authority, scheme string) (host string, port int, ok bool) {
	port = defaultPort(scheme == "https")
	if strings.ContainsAny(authority, "@/\\?# \t,%") || authority == "" {
		return "", 0, false
	}
	host = authority
	if colon := strings.LastIndexByte(authority, ':'); colon >= 0 && !strings.HasSuffix(authority, "]") {
		n, err := strconv.ParseUint(authority[colon+1:], 10, 16)
		if err != nil || n == 0 {
			return "", 0, false
		}
		host, port = authority[:colon], int(n)
	}
	if strings.ContainsRune(host, ':') && (host[0] != '[' || host[len(host)-1] != ']') {
		return "", 0, false
	}
	host = bareHost(strings.Trim(host, "[]"))
	return host, port, host != ""
}

func defaultPort(tls bool) int {
	if tls {
		return 443
	}
	return 80
}

// bareHost is a name as names are compared. The dot at a name's end says only
// that it is complete.
func bareHost(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// authority is how a host and port are written in a URL.
func authority(host string, addr netip.AddrPort) string {
	if host == "" {
		host = addr.Addr().String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(addr.Port())))
}

// covers says whether a secret's host is meant: by its name, or as a name below x
// where that is *.x.
func covers(pattern, host string) bool {
	if below, glob := strings.CutPrefix(pattern, "*."); glob {
		return strings.HasSuffix(host, "."+bareHost(below))
	}
	return host != "" && bareHost(pattern) == host
}

func isTokenText(s string) bool {
	for i := range len(s) {
		if !isToken(s[i]) {
			return false
		}
	}
	return s != ""
}

// isToken says whether a byte can be in a method or a field's name.
func isToken(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
}
