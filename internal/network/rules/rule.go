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
	"sync"
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

// Every box has the rules of its preset, they are read several times on its way
// from a wish to a gate, and a race makes many boxes: so what a text means is
// remembered. Any user who may make a box chooses the texts, so little is kept
// of them, and not what is large: no paths, of which each is a compiled
// pattern.
const (
	memoMost = 1024 // texts
	memoText = 256  // bytes of one
)

// readRule is a rule, and its one way of writing.
type readRule struct {
	Rule
	text string
}

var memo struct {
	mu  sync.RWMutex
	all map[string]readRule
}

// read is Parse, with the rule's one way of writing. What it returns is shared.
func read(text string) (readRule, error) {
	memo.mu.RLock()
	known, has := memo.all[text]
	memo.mu.RUnlock()
	if has {
		return known, nil
	}
	text = strings.Clone(text) // which may be a part of something large
	rule, err := parse(text)
	if err != nil {
		return readRule{}, err
	}
	r := readRule{rule, rule.String()}
	if len(text) <= memoText && rule.path == nil {
		remember(text, r)
	}
	return r, nil
}

// remember forgets all the others when there are too many: an order would cost
// more than to read them again.
func remember(text string, r readRule) {
	memo.mu.Lock()
	defer memo.mu.Unlock()
	if memo.all == nil || len(memo.all) >= memoMost {
		memo.all = map[string]readRule{}
	}
	memo.all[text] = r
}
