package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// What bounds a policy: a rule is a line that people write, and a list is one
// that they can read.
const (
	MostText  = 1 << 10           // bytes of a rule
	MostRules = forkbox.MostRules // in a list
	mostPorts = 64                // ports or ranges in a rule
)

// Parse reads a rule:
//
//	("allow"|"deny") [METHOD[,METHOD…]] [("tcp"|"udp"|"any")":"] TARGET [":"PORTS] [PATH] ["private"]
//
// The protocol is tcp if a rule that allows does not say it. One that denies
// means both then: a host that is denied is not to be reached over QUIC.
//
// TARGET is a host name, a glob of names, an address or a range of addresses.
// A rule is plain ASCII without control characters, so that whatever shows one
// shows it as it is. [Rule.String] gives it back in its one way of writing.
//
// What a rule's slices hold is shared, and not to be changed.
func Parse(text string) (Rule, error) {
	r, err := read(text)
	return r.Rule, err
}

func parse(text string) (Rule, error) {
	p := parser{text: text}
	if err := p.legible(); err != nil {
		return Rule{}, err
	}
	words := strings.Fields(text)
	for _, step := range []func(words []string) ([]string, error){p.verb, p.private, p.loosePath, p.methods, p.place} {
		rest, err := step(words)
		if err != nil {
			return Rule{}, err
		}
		words = rest
	}
	if p.rule.Proto == "" {
		p.rule.Proto = p.rule.usualProto()
	}
	if err := p.sensible(); err != nil {
		return Rule{}, err
	}
	return p.rule, nil
}

type parser struct {
	text string
	rule Rule
}

// bad is an error about the rule; it quotes the part that is wrong.
func (p *parser) bad(format string, args ...any) *forkbox.Error {
	return forkbox.Errorf(forkbox.Invalid, "read the rule "+quoted(p.text), format, args...)
}

func (p *parser) legible() error {
	if len(p.text) > MostText {
		return p.bad("it has %d bytes, and %d is the most", len(p.text), MostText)
	}
	for _, r := range p.text {
		switch {
		case r < ' ' || r == 0x7f:
			return p.bad("%+q is a control character", r)
		case r > 0x7f:
			return p.bad("%+q is not ASCII", r).Hint("a name in another script is written in punycode, as xn--…")
		}
	}
	return nil
}

func (p *parser) verb(words []string) ([]string, error) {
	if len(words) == 0 {
		return nil, p.bad("it is empty").Hint("for example: allow git.example.com:443")
	}
	switch words[0] {
	case "allow", "deny":
		p.rule.Allow = words[0] == "allow"
		return words[1:], nil
	}
	return nil, p.bad("it begins with %q, not with allow or deny", words[0]).Hint("for example: allow git.example.com:443")
}

func (p *parser) private(words []string) ([]string, error) {
	if n := len(words); n > 0 && words[n-1] == "private" {
		p.rule.Private, words = true, words[:n-1]
	}
	return words, nil
}

// loosePath takes a path that stands by itself after its host.
func (p *parser) loosePath(words []string) ([]string, error) {
	if n := len(words); n > 1 && strings.HasPrefix(words[n-1], "/") {
		return words[:n-1], p.setPath(words[n-1])
	}
	return words, nil
}

func (p *parser) methods(words []string) ([]string, error) {
	if len(words) < 2 {
		return words, nil
	}
	for _, m := range strings.Split(words[0], ",") {
		if !isMethod(m) {
			return nil, p.bad("%q is no HTTP method", m).Hint("methods are in capitals, with commas and no spaces between: GET,HEAD")
		}
		if !slices.Contains(p.rule.Methods, m) {
			p.rule.Methods = append(p.rule.Methods, m)
		}
	}
	return words[1:], nil
}

// isMethod takes new methods too, but not names of hosts.
func isMethod(word string) bool {
	const capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return word != "" && len(word) <= 32 && strings.Trim(word, capitals+"-") == "" && strings.Trim(word, "-") == word
}

// sensible refuses what each by itself is fine and together means nothing.
func (p *parser) sensible() error {
	r := p.rule
	if c, is := r.futile(); is {
		bad := p.bad("%s is %s, which no rule can allow", r.target(), classNames[c])
		if c == loopback {
			bad.Hint("--host-port lets a box reach a service on the host's loopback")
		}
		return bad
	}
	switch {
	case r.HTTP() && r.Host == "":
		return p.bad("methods and paths are for host names, not for addresses")
	case r.HTTP() && r.Proto != "tcp":
		return p.bad("methods and paths go over tcp, not %s", r.Proto)
	case r.Private && r.Host == "":
		return p.bad(`"private" is for host names; a range of addresses says by itself what it means`)
	case r.Private && !r.Allow:
		return p.bad(`"private" widens what is allowed, and this rule denies`)
	}
	return nil
}

// mostStars is in one path: each makes it slower to compare.
const mostStars = 16

// setPath reads a path with globs: * stands for anything within a segment, **
// across segments, and /** at the end also for what it is below.
func (p *parser) setPath(text string) error {
	if p.rule.Path != "" {
		return p.bad("%q is a second path", text)
	}
	if i := strings.IndexAny(text, `%?#;\`); i >= 0 {
		return p.bad("%q cannot be in a path", text[i:i+1]).
			Hint("paths are compared as they are when decoded, without the query; * stands for what is hard to write")
	}
	if strings.Count(text, "*") > mostStars {
		return p.bad("%q has more than %d stars", text, mostStars)
	}
	if text != "/" {
		text = strings.TrimSuffix(text, "/")
	}
	segments := strings.Split(text, "/")[1:]
	if text != "/" && (slices.Contains(segments, "") || slices.Contains(segments, ".") || slices.Contains(segments, "..")) {
		return p.bad("%q has an empty segment, or a dot for one, and no request would match it", text)
	}
	p.rule.Path, p.rule.path = text, pathPattern(text, p.rule.Allow)
	return nil
}

// pathPattern makes a regular expression of it: Go's take linear time, so that
// a pattern of many stars is no way to keep the gate busy. A denied path is
// denied in capitals too, since some servers do not care.
func pathPattern(glob string, allow bool) *regexp.Regexp {
	flags := "(?is)"
	if allow {
		flags = "(?s)"
	}
	tail := ""
	if before, all := strings.CutSuffix(glob, "/**"); all {
		glob, tail = before, "(?:/.*)?"
	}
	parts := strings.Split(glob, "**")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(regexp.QuoteMeta(part), `\*`, "[^/]*")
	}
	return regexp.MustCompile(flags + "^" + strings.Join(parts, ".*") + tail + "$")
}

// hasPath says whether the rule is about a request's path, in its readings (see
// [readings]). An allowed path has to be one in all of them, and one that is
// denied in any is denied.
func (r Rule) hasPath(readings []string) bool {
	switch {
	case r.Path == "":
		return true
	case len(readings) == 0:
		return !r.Allow // its meaning cannot be told
	case !r.Allow:
		return slices.ContainsFunc(readings, r.path.MatchString)
	}
	return !slices.ContainsFunc(readings, func(reading string) bool { return !r.path.MatchString(reading) })
}

// hasMethod minds case where it allows: "get" is another method than GET, but
// there are servers that do not think so.
func (r Rule) hasMethod(method string) bool {
	switch {
	case len(r.Methods) == 0:
		return true
	case r.Allow:
		return slices.Contains(r.Methods, method)
	}
	return method == "" || slices.ContainsFunc(r.Methods, func(m string) bool { return strings.EqualFold(m, method) })
}
