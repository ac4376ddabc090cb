package intercept

import (
	"bytes"
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

// shape is what a raw head looks like.
type shape struct {
	bad            string // why it is refused
	method, target string
	length         int64
	chunked        bool
	upgrade        bool // to a WebSocket; other upgrades are not passed on
	connect        bool // what follows is for another host
}

// shapeOf reads a head, strictly. It ends in an empty line.
func shapeOf(head []byte) shape {
	lines := strings.SplitAfter(string(head), "\n")
	s, fields := shape{}, map[string][]string{}
	if s.bad = badLines(lines); s.bad != "" {
		return s
	}
	words := strings.Split(strings.TrimSuffix(lines[0], "\r\n"), " ")
	s.method, s.target = words[0], words[1]
	for _, line := range lines[1 : len(lines)-2] { // then the empty line, and what is after it
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\r\n"), ":")
		name = strings.ToLower(name)
		fields[name] = append(fields[name], strings.Trim(value, " \t"))
	}
	s.bad = s.frame(fields, words[2] == "HTTP/1.1")
	if s.bad == "" {
		s.bad = badHostField(s.target, fields["host"])
	}
	if s.connect = s.method == "CONNECT"; s.bad == "" && s.connect && (s.chunked || s.length > 0) {
		s.bad = "CONNECT has no body"
	}
	s.upgrade = s.bad == "" && s.method == "GET" && !s.chunked && s.length == 0 && asksForWebSocket(fields)
	return s
}

// badLines refuses lines that servers disagree on: such that end in a line feed
// alone, that continue another, that have a carriage return or a zero within.
func badLines(lines []string) string {
	for i, line := range lines[:len(lines)-1] {
		text, crlf := strings.CutSuffix(line, "\r\n")
		name, _, colon := strings.Cut(text, ":")
		switch {
		case !crlf:
			return "a line of the head does not end in CR LF"
		case strings.ContainsAny(text, "\r\x00"):
			return "a line of the head has a control character in it"
		case i == 0 || i == len(lines)-2:
		case text == "" || text[0] == ' ' || text[0] == '\t':
			return "a line of the head continues the one before"
		case !colon || !isTokenText(name):
			return "a line of the head is no header field"
		}
	}
	return badRequestLine([]byte(lines[0]))
}

// badRequestLine says what is wrong with the first line. It is asked as soon as
// that line is there, so that other protocols are not waited for.
func badRequestLine(line []byte) string {
	words := bytes.Split(bytes.TrimRight(line, "\r\n"), []byte(" "))
	switch {
	case len(words) != 3 || !isTokenText(string(words[0])) || len(words[1]) == 0 || !bytes.HasPrefix(words[2], []byte("HTTP/")):
		return "this is not HTTP"
	case string(words[2]) != "HTTP/1.1" && string(words[2]) != "HTTP/1.0":
		return "this version of HTTP is not spoken here"
	}
	return ""
}

// frame finds where the body ends. There must be one way to tell.
func (s *shape) frame(fields map[string][]string, modern bool) string {
	lengths, codings := fields["content-length"], fields["transfer-encoding"]
	switch {
	case len(lengths) > 0 && len(codings) > 0:
		return "it has both Content-Length and Transfer-Encoding"
	case len(lengths) > 1:
		return "it has more than one Content-Length"
	case len(codings) > 1 || len(codings) == 1 && !strings.EqualFold(codings[0], "chunked"):
		return "its Transfer-Encoding is not just chunked"
	case len(codings) == 1 && !modern:
		return "HTTP/1.0 has no Transfer-Encoding"
	}
	s.chunked = len(codings) == 1
	if len(lengths) == 0 {
		return ""
	}
	n, err := strconv.ParseUint(lengths[0], 10, 62)
	if err != nil || lengths[0][0] == '+' {
		return "its Content-Length is no number"
	}
	s.length = int64(n)
	return ""
}

func asksForWebSocket(fields map[string][]string) bool {
	if len(fields["upgrade"]) != 1 || !strings.EqualFold(fields["upgrade"][0], "websocket") {
		return false
	}
	for _, option := range strings.Split(strings.Join(fields["connection"], ","), ",") {
		if strings.EqualFold(strings.Trim(option, " \t"), "upgrade") {
			return true
		}
	}
	return false
}
