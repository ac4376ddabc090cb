package vault

import (
	"bytes"
	"net/netip"
	"regexp"
	"strings"
	"sync"

	"github.com/forkbox/forkbox"
)

// Names are those of environment variables, because that is where a box finds
// the placeholder; so no name is a path either.
var (
	goodName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`) })
	goodLabel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`) })
)

const mostHosts = 64

// checked returns the secret with its hosts as they are compared.
func checked(uid int, s forkbox.Secret, value []byte) (forkbox.Secret, error) {
	if err := checkName(uid, s.Name); err != nil {
		return s, err
	}
	if err := checkValue(s.Name, value); err != nil {
		return s, err
	}
	op := "set secret " + s.Name
	if len(s.Hosts) == 0 || len(s.Hosts) > mostHosts {
		return s, forkbox.Errorf(forkbox.Invalid, op, "it is for %d hosts; 1 to %d can be named", len(s.Hosts), mostHosts).
			Hint("name the hosts that it may be sent to, such as api.example.com")
	}
	hosts := make([]string, len(s.Hosts))
	for i, host := range s.Hosts {
		hosts[i] = strings.ToLower(strings.TrimSuffix(host, "."))
		if why := badHost(hosts[i]); why != "" {
			return s, forkbox.Errorf(forkbox.Invalid, op, "host %q %s", host, why)
		}
	}
	s.Hosts = hosts
	return s, nil
}

func checkName(uid int, name string) error {
	switch {
	case uid < 0:
		return forkbox.Errorf(forkbox.Invalid, "use a secret", "%d is no user's id", uid)
	case !goodName().MatchString(name):
		return forkbox.Errorf(forkbox.Invalid, "use a secret", "%.140q is no name for one", name).
			Hint("names are like those of environment variables: letters, digits and _, not a digit first, at most 128")
	}
	return nil
}

// checkValue refuses what would end a header: the rest would be a header, or a
// request, of its own. No message quotes the value.
func checkValue(name string, value []byte) error {
	op := "set secret " + name
	switch {
	case len(value) == 0:
		return forkbox.Errorf(forkbox.Invalid, op, "its value is empty")
	case len(value) > MaxValue:
		return forkbox.Errorf(forkbox.Invalid, op, "its value has %d bytes; %d is the most", len(value), MaxValue)
	case bytes.ContainsAny(value, "\r\n\x00"):
		return forkbox.Errorf(forkbox.Invalid, op, "its value has a line break or a zero byte in it, which no header can carry")
	}
	return nil
}

// badHost says what is wrong with a host, "" if nothing is. A bare * would send
// the secret to any server; an address has no name that a certificate proves.
func badHost(host string) string {
	name := strings.TrimPrefix(host, "*.")
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return "is an address; a secret is bound to a name that a certificate proves"
	}
	if len(name) > 253 {
		return "is too long for a name"
	}
	for label := range strings.SplitSeq(name, ".") {
		if !goodLabel().MatchString(label) {
			return "is neither a name such as api.example.com nor *. and a name"
		}
	}
	return ""
}
