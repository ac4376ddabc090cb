package rules

import (
	"regexp"
	"slices"
	"strings"
)

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
		return !r.Allow // nobody can tell what it means
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
