// Package rules decides what a box may reach. It is told who wants to go
// where and answers with a verdict; it resolves no name, opens no connection
// and reads no file.
//
// A rule is one line of text (see [Parse]). A [Policy] is an ordered list of
// them, of which the first that matches decides, and a second list, the host's
// floor, that has to agree. What no rule matches is refused. Addresses that
// lead into the host or its neighbourhood (see special.go) are only matched by
// rules that name them.
package rules

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rule is one line of a policy, as [Parse] makes it.
type Rule struct {
	Allow   bool
	Methods []string // of HTTP; none: any
	Proto   string   // "tcp", "udp", or "any" for both
	// Host is a name, "*.name" for all names below it, or "*" for every name.
	// It is empty where the rule is about addresses.
	Host    string
	Prefix  netip.Prefix
	Ports   []Ports // none: any
	Path    string  // of HTTP, with * and **; empty: any
	Private bool    // the name may lead to a private address

	path *regexp.Regexp // what Path matches
}

// Ports are those from First to Last.
type Ports struct{ First, Last int }

// HTTP says that the rule is about requests, not connections.
func (r Rule) HTTP() bool { return len(r.Methods) > 0 || r.Path != "" }

// String is the rule as [Parse] reads it.
func (r Rule) String() string {
	verb := "deny "
	if r.Allow {
		verb = "allow "
	}
	return verb + r.Object()
}

// Object is the rule without its first word: what is allowed or denied.
func (r Rule) Object() string {
	var b strings.Builder
	if len(r.Methods) > 0 {
		b.WriteString(strings.Join(r.Methods, ",") + " ")
	}
	if r.Proto != r.usualProto() || slices.Contains(words, r.Host) {
		b.WriteString(r.Proto + ":")
	}
	b.WriteString(r.target())
	for i, p := range r.Ports {
		b.WriteString(map[bool]string{true: ":", false: ","}[i == 0] + p.String())
	}
	b.WriteString(r.Path)
	if r.Private {
		b.WriteString(" private")
	}
	return b.String()
}

// usualProto is the one that a rule means when it names none.
func (r Rule) usualProto() string {
	if r.Allow || r.HTTP() {
		return "tcp"
	}
	return "any"
}

// words of the grammar are hosts only where a protocol stands before them.
var words = []string{"tcp", "udp", "any", "private"}

func (r Rule) target() string {
	if r.Host != "" {
		return r.Host
	}
	text := r.Prefix.String()
	if r.Prefix.IsSingleIP() {
		text = r.Prefix.Addr().String()
	}
	if len(r.Ports) > 0 && r.Prefix.Addr().Is6() {
		return "[" + text + "]"
	}
	return text
}

// String is "443" or "80-90".
func (p Ports) String() string {
	if p.First == p.Last {
		return strconv.Itoa(p.First)
	}
	return strconv.Itoa(p.First) + "-" + strconv.Itoa(p.Last)
}

// covers says whether the rule is about a protocol and port.
func (r Rule) covers(proto string, port int) bool {
	if r.Proto != "any" && r.Proto != proto {
		return false
	}
	return len(r.Ports) == 0 || slices.ContainsFunc(r.Ports, func(p Ports) bool { return p.First <= port && port <= p.Last })
}
