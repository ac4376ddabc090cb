package registry

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// astray is a redirect that is not followed, now or at the next attempt.
type astray string

func (a astray) Error() string { return string(a) }

const (
	errManyRedirects = astray("it sends us on and on")
	errDowngrade     = astray("it sends us from TLS to where there is none")
	errMovedUpload   = astray("it sends us elsewhere with what we wanted to put there")
	errMovedLogin    = astray("it sends us elsewhere with our password")
)

// checkRedirect follows where content is, and takes nothing there that shows
// who we are. Go itself would keep passwords for hosts below the first one.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	away := !sameOrigin(req.URL, first.URL)
	for _, r := range via {
		away = away || !sameOrigin(r.URL, first.URL)
	}
	switch {
	case len(via) >= 10:
		return errManyRedirects
	case req.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https":
		return errDowngrade
	case first.Method != http.MethodGet && first.Method != http.MethodHead && (away || req.Method != first.Method):
		return errMovedUpload
	case away:
		req.Header.Del("Authorization")
	}
	return nil
}

// stay is for requests that carry a password in their body.
func stay(req *http.Request, via []*http.Request) error {
	if !sameOrigin(req.URL, via[0].URL) {
		return errMovedLogin
	}
	return checkRedirect(req, via)
}

// sameOrigin says whether two addresses are of the same server.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// loopback says that a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
