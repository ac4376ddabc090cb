package rules

import (
	"net/netip"
	"strings"

	"github.com/forkbox/forkbox"
)

// remedy is the command that would have the target allowed. What a box sent gets into it only where it is harmless in a
// shell.
func (a ask) remedy(t forkbox.NetTarget) string {
	if a.place.class == loopback {
		return hostPortRemedy(t.Port)
	}
	if a.place.class > loopback {
		return ""
	}
	return "forkbox net allow " + a.box + " '" + a.wanted(t).Object() + "'"
}

// wanted is the narrowest rule that would allow the target.
func (a ask) wanted(t forkbox.NetTarget) Rule {
	r := Rule{Allow: true, Proto: "tcp"}
	if t.Proto != "" {
		r.Proto = t.Proto
	}
	if t.Port > 0 {
		r.Ports = []Ports{{t.Port, t.Port}}
	}
	if byName := a.place.class <= cgnat; t.Host == "" || !byName {
		r.Prefix = netip.PrefixFrom(a.place.addr, a.place.addr.BitLen())
		return r
	}
	r.Host, r.Private = t.Host, a.place.class != public
	if a.request && !a.pinned && isMethod(t.Method) {
		r.Methods, r.Path = []string{t.Method}, a.plainPath()
	}
	return r
}

// plainPath is the request's path if it means but one thing and can be written
// in a rule, and between the quotes of a shell.
func (a ask) plainPath() string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~"
	if len(a.readings) != 1 || len(a.readings[0]) > MostText/2 || strings.Trim(a.readings[0], plain) != "" {
		return ""
	}
	return a.readings[0]
}
