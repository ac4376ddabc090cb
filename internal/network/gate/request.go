package gate

import (
	"bytes"
	"errors"
	"net"
	"net/url"
	"strings"
)

var (
	errRequestLine = errors.New("its first line is not a request")
	errHTTP2       = errors.New("HTTP/2 without TLS names hosts where the gate does not look")
	errHeader      = errors.New("a header line is malformed")
	errHosts       = errors.New("it has several Host headers")
	errTarget      = errors.New("its target and its Host header differ")
)

const (
	// spaces are what some servers take for space between words, in no encoding.
	spaces = " \t\r\n\v\f\x1c\x1d\x1e\x1f\x85\xa0"
	// methodMost is how long the methods of usual clients are.
	methodMost = 32
	// lineMost is more than servers that take any word for a method read of a
	// line.
	lineMost = 64<<10 + 1
)

func isSpace(c byte) bool { return strings.IndexByte(spaces, c) >= 0 }

// trimSpaces goes byte by byte: what comes from a client is in no encoding.
func trimSpaces(line []byte) []byte {
	for len(line) > 0 && isSpace(line[0]) {
		line = line[1:]
	}
	return line
}

// firstWord is what a line has before its first space.
func firstWord(line []byte) []byte {
	for i, c := range line {
		if isSpace(c) {
			return line[:i]
		}
	}
	return line
}

// beginsRequest says whether a line, or what is there of it, can become what
// some server takes for a request: a word in ASCII, a space, anything.
func beginsRequest(line []byte) bool {
	for _, c := range firstWord(line) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// isMethod says whether a word is what HTTP allows as a method.
func isMethod(word []byte) bool {
	for _, c := range word {
		if !isToken(c) {
			return false
		}
	}
	return true
}

// isGit says whether a line begins as git's own protocol does, which has no end
// of line that one could wait for.
func isGit(line []byte) bool {
	return len(line) >= 8 && string(line[4:8]) == "git-" && len(bytes.Trim(line[:4], "0123456789abcdef")) == 0
}

func isToken(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// headEnd is where the header ends, with the empty line; -1 if not yet. Servers
// take lines that end in a newline alone as well.
func headEnd(b []byte) int {
	for at := 0; ; {
		next := bytes.IndexByte(b[at:], '\n')
		if next < 0 {
			return -1
		}
		if line := b[at : at+next]; at > 0 && (len(line) == 0 || string(line) == "\r") {
			return at + next + 1
		}
		at += next + 1
	}
}

// requestHost is the host that a request's header names, empty if it names none,
// and whether it is in the form that proxies get. Where servers could read it
// differently it is an error.
func requestHost(head []byte) (name string, proxied bool, err error) {
	lines := strings.Split(strings.TrimRight(string(head), "\r\n"), "\n")
	words := strings.Split(strings.TrimSuffix(lines[0], "\r"), " ")
	if len(words) != 3 || !strings.HasPrefix(words[2], "HTTP/1.") || words[0] == "" || !isMethod([]byte(words[0])) {
		if strings.HasPrefix(lines[0], "PRI * HTTP/2") {
			return "", false, errHTTP2
		}
		return "", false, errRequestLine
	}
	host, found := "", false
	for _, line := range lines[1:] {
		name, value, err := headerLine(strings.TrimSuffix(line, "\r"))
		if err != nil {
			return "", false, err
		}
		if !strings.EqualFold(name, "host") {
			continue
		}
		if found {
			return "", false, errHosts
		}
		host, found = value, true
	}
	return agree(words[0], words[1], hostOnly(host))
}

func headerLine(line string) (name, value string, err error) {
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || strings.IndexFunc(name, func(r rune) bool { return r > 127 || !isToken(byte(r)) }) >= 0 {
		return "", "", errHeader // also lines that go on from the one before
	}
	if strings.ContainsAny(value, "\r\x00") {
		return "", "", errHeader
	}
	return name, strings.Trim(value, " \t"), nil
}

// agree checks the target of a request that names a host itself, as one for a
// proxy does.
func agree(method, target, host string) (name string, proxied bool, err error) {
	switch {
	case method == "CONNECT":
		return hostOnly(target), true, nil // what is asked for is elsewhere
	case strings.HasPrefix(target, "/") || target == "*":
		return host, false, nil
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return "", false, errRequestLine
	}
	if named := canonical(u.Hostname()); named != host {
		return "", true, errTarget
	}
	return host, true, nil
}

// hostOnly is a Host header without its port.
func hostOnly(value string) string {
	if host, _, err := net.SplitHostPort(value); err == nil {
		value = host
	}
	return canonical(strings.Trim(value, "[]"))
}
