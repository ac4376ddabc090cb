package egress

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

// beginsRequest says whether a line, or what is there of it, can become an HTTP
// request: a word, a space, anything.
func beginsRequest(line []byte) bool {
	for i, c := range line {
		switch {
		case c == ' ' || c == '\t':
			return i > 0
		case !isToken(c) || i >= 32:
			return false
		}
	}
	return len(line) > 0
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

// requestHost is the host that a request's header names; empty if it names none.
// Where servers could read it differently it is an error.
func requestHost(head []byte) (string, error) {
	lines := strings.Split(strings.TrimRight(string(head), "\r\n"), "\n")
	words := strings.Split(strings.TrimSuffix(lines[0], "\r"), " ")
	if len(words) != 3 || !strings.HasPrefix(words[2], "HTTP/1.") {
		if strings.HasPrefix(lines[0], "PRI * HTTP/2") {
			return "", errHTTP2
		}
		return "", errRequestLine
	}
	host, found := "", false
	for _, line := range lines[1:] {
		name, value, err := headerLine(strings.TrimSuffix(line, "\r"))
		if err != nil {
			return "", err
		}
		if !strings.EqualFold(name, "host") {
			continue
		}
		if found {
			return "", errHosts
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

// agree checks the target of a request that names a host itself.
func agree(method, target, host string) (string, error) {
	switch {
	case method == "CONNECT":
		return hostOnly(target), nil // what is asked for is elsewhere
	case strings.HasPrefix(target, "/") || target == "*":
		return host, nil
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return "", errRequestLine
	}
	if named := canonical(u.Hostname()); named != host {
		return "", errTarget
	}
	return host, nil
}

// hostOnly is a Host header without its port.
func hostOnly(value string) string {
	if host, _, err := net.SplitHostPort(value); err == nil {
		value = host
	}
	return canonical(strings.Trim(value, "[]"))
}
