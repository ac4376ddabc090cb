package listen

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/forkbox/forkbox"
)

// Names are what the daemon is called. A request that calls it otherwise comes
// from a browser that was lied to about an address (DNS rebinding), or is not
// for it.
type Names struct{ known map[string]bool }

// NewNames has those that were configured or are in a certificate, beside
// localhost and addresses.
func NewNames(names ...string) Names {
	n := Names{map[string]bool{"localhost": true}}
	for _, name := range names {
		if name = fold(name); name != "" && !strings.HasPrefix(name, "*") {
			n.known[name] = true
		}
	}
	return n
}

func fold(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// Check refuses a request that calls the daemon by a name that is not its own,
// and one that a page of another origin made.
func (n Names) Check(r *http.Request) error {
	const op = "answer"
	if !n.answersTo(r) {
		return forkbox.Errorf(forkbox.Denied, op, "this daemon is not called %.100q", r.Host).
			Hint("if it is, name it in its config.yaml: serve: {hosts: [NAME]}")
	}
	if !sameOrigin(r) {
		return forkbox.Errorf(forkbox.Denied, op, "a page of another origin asked for it")
	}
	return nil
}

// answersTo: an address is the daemon's if it is a loopback address, or the one
// that the connection came in by.
func (n Names) answersTo(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return n.known[fold(host)]
	}
	if addr.IsLoopback() || n.known[host] {
		return true
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return local != nil && addrOf(local) == addr.Unmap()
}

// sameOrigin: programs send neither header. Sec-Fetch-Site is what browsers say
// also where they send no Origin; "none" is a person who typed the address.
func sameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	u, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && u.Scheme == scheme && u.Host != "" && strings.EqualFold(u.Host, r.Host) &&
		u.User == nil && u.Path == "" && u.RawQuery == "" && u.Fragment == ""
}
