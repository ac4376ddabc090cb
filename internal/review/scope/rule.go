package scope

import (
	"bytes"
	"strings"
)

// rule is one line of an ignore file.
type rule struct {
	negated  bool   // !pattern: what matches is not ignored after all
	dirOnly  bool   // pattern/: only directories match
	baseOnly bool   // no slash: the last name is matched, at any depth
	prefix   string // what the subject must begin with, byte for byte
	rest     glob   // what must match the remainder
	suffix   string // where rest is a star and then this: the usual *.log
}

// match says whether the rule is about a path, given relative to the
// directory of the rule's file, and whose last name is base.
func (r *rule) match(rel, base string, dir bool) bool {
	if r.dirOnly && !dir {
		return false
	}
	subject := rel
	if r.baseOnly {
		subject = base
	}
	rest, ok := strings.CutPrefix(subject, r.prefix)
	switch {
	case !ok:
		return false
	case len(r.rest) == 0:
		return rest == ""
	case r.suffix != "":
		return strings.HasSuffix(rest, r.suffix)
	}
	return r.rest.match(rest)
}

// parseRules reads an ignore file as git does. Lines that can match nothing
// are left out.
func parseRules(content []byte) []rule {
	var rules []rule
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	for line := range bytes.SplitSeq(content, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		// Git reads C strings: a line ends at a NUL.
		line, _, _ = bytes.Cut(line, []byte{0})
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if r, ok := parseRule(trimSpaces(string(line))); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

// trimSpaces cuts spaces off the end, but not one that is escaped.
func trimSpaces(line string) string {
	end := 0 // after the last byte that is to stay
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// parseRule reads one line; it is false for one that can match nothing.
func parseRule(line string) (rule, bool) {
	var r rule
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	r.baseOnly = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return r, false
	}
	// Git compares what is before the first wildcard byte for byte and takes
	// the remainder for a pattern of its own. One can tell: in a**/b the two
	// stars are special, because they begin that pattern.
	wild := strings.IndexAny(line, `*?[\`)
	if wild < 0 {
		wild = len(line)
	}
	r.prefix = line[:wild]
	var ok bool
	r.rest, ok = compile(line[wild:])
	r.suffix = starSuffix(line[wild:], r.baseOnly)
	return r, ok
}

// starSuffix is what follows the only wildcard, a star, of a pattern.
func starSuffix(pattern string, baseOnly bool) string {
	suffix, ok := strings.CutPrefix(pattern, "*")
	if !ok || !baseOnly || strings.ContainsAny(suffix, `*?[\`) {
		return ""
	}
	return suffix
}
