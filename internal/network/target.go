package network

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// target is what a client asks to have explained.
type target struct {
	forkbox.NetTarget
	request bool // it is a URL: there will be a request
	plain   bool // without TLS
}

// parseTarget reads a URL, HOST[:PORT] or ADDRESS[:PORT], udp: in front if it is
// that. Without a port it is that of https.
func parseTarget(text string) (target, error) {
	if strings.Contains(text, "://") {
		return parseURL(text)
	}
	t := target{NetTarget: forkbox.NetTarget{Proto: "tcp", Port: 443}}
	if rest, ok := strings.CutPrefix(text, "udp:"); ok {
		t.Proto, text = "udp", rest
	}
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		t.Addr = addr.Unmap()
		return t, nil
	}
	host := text
	if h, port, err := net.SplitHostPort(text); err == nil {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil || number == 0 {
			return target{}, errTarget(text, "%q is no port", port)
		}
		host, t.Port = h, int(number)
	}
	return t.named(host)
}

func parseURL(text string) (target, error) {
	u, err := url.Parse(text)
	if err != nil {
		return target{}, errTarget(text, "it is no URL")
	}
	ports := map[string]int{"https": 443, "http": 80, "wss": 443, "ws": 80, "ssh": 22, "git": 9418, "ftp": 21}
	port, known := ports[u.Scheme]
	if !known {
		return target{}, errTarget(text, "%q is no kind of URL that is known", u.Scheme)
	}
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
			return target{}, errTarget(text, "%q is no port", u.Port())
		}
	}
	t := target{NetTarget: forkbox.NetTarget{Proto: "tcp", Port: port}}
	t.plain = u.Scheme == "http" || u.Scheme == "ws"
	if t.request = t.plain || u.Scheme == "https" || u.Scheme == "wss"; t.request {
		t.Method, t.Path = "GET", u.EscapedPath()
		if t.Path == "" {
			t.Path = "/"
		}
	}
	return t.named(u.Hostname())
}

func (t target) named(host string) (target, error) {
	if host == "" {
		return target{}, errTarget(host, "it names no host")
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		t.Addr = addr.Unmap()
		return t, nil
	}
	t.Host = strings.ToLower(strings.TrimSuffix(host, "."))
	return t, nil
}

func errTarget(text, why string, args ...any) error {
	return forkbox.Errorf(forkbox.Invalid, "explain "+strconv.QuoteToGraphic(text), why, args...).
		Hint("it is a URL, HOST[:PORT] or ADDRESS[:PORT]")
}
