package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// ParseHost reads a name or a glob of names as rules and lists of hosts have
// it, and gives it back in small letters, without a dot at the end.
func ParseHost(text string) (string, error) {
	if text == "*" {
		return text, nil
	}
	name, glob := strings.CutPrefix(text, "*.")
	host, err := parseName(name)
	if err != nil {
		return "", err
	}
	if glob {
		return "*." + host, nil
	}
	return host, nil
}

// parseName reads what can only be a name. Such that some programs take for an
// address (017.1, 0x7f000001, 2130706433) are none: the policy would look at
// one thing and the connection go to another.
func parseName(text string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	bad := func(format string, args ...any) error {
		return forkbox.Errorf(forkbox.Invalid, "read the host "+quoted(text), "%s "+format, append([]any{quoted(text)}, args...)...)
	}
	switch {
	case name == "":
		return "", bad("is no host name")
	case len(name) > 253:
		return "", bad("has %d letters; a name has 253 at most", len(name))
	case !isASCII(name):
		return "", bad("is not ASCII; write it in punycode, as xn--…")
	case strings.Contains(name, "*"):
		return "", bad(`has a * in it; one can only stand for all that is before a dot, as in "*.example.org"`)
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !isLabel(label) {
			return "", bad("is no host name: %q cannot be a part of one", label)
		}
	}
	if isNumber(labels[len(labels)-1]) {
		return "", bad("is no host name: some programs take it for an address")
	}
	return name, nil
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 })
}

// isLabel takes underscores as well: names of services and some hosts have them.
func isLabel(label string) bool {
	return label != "" && len(label) <= 63 && strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" &&
		label[0] != '-' && label[len(label)-1] != '-'
}

// isNumber is how browsers and inet_aton tell an address: by its last part.
func isNumber(label string) bool {
	if digits, hex := strings.CutPrefix(label, "0x"); hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// covers says whether a pattern, a name or a glob, is about a name.
func covers(pattern, name string) bool {
	if pattern == "*" || pattern == name {
		return name != ""
	}
	below, glob := strings.CutPrefix(pattern, "*")
	return glob && strings.HasSuffix(name, below)
}

func whyOf(err error) string {
	var e *forkbox.Error
	if errors.As(err, &e) {
		return e.Why
	}
	return err.Error()
}

// quoted is foreign text for people to read: one line, not too long.
func quoted(text string) string {
	if len(text) > 80 {
		return fmt.Sprintf("%+q…", text[:80])
	}
	return fmt.Sprintf("%+q", text)
}

// What a request's path may be like for its meaning to be certain.
const (
	longestPath = 8 << 10
	mostDecoded = 4 // times: a proxy decodes, then the server behind it
)

// readings are the ways in which servers may understand a request's path:
// whether %2f separates segments, whether it is decoded twice, whether
// ;parameters count, whether \ is a slash, whether // is one before dots are
// resolved. There are none where the path is not one at all.
func readings(path string) []string {
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path, "#")
	if path == "" {
		path = "/"
	}
	if path[0] != '/' || len(path) > longestPath {
		return nil
	}
	if !strings.ContainsAny(path, `%;\`) && isPlain(path) {
		return addResolved(nil, path)
	}
	var all []string
	for _, decoded := range decodings(path) {
		if !isPlain(decoded) {
			return nil
		}
		for _, whole := range []string{decoded, strings.ReplaceAll(decoded, `\`, "/")} {
			all = addResolved(all, whole)
			all = addResolved(all, withoutParameters(whole))
		}
	}
	return all
}

// isPlain refuses control characters: where one is, some servers end the path.
func isPlain(path string) bool {
	return !strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// decodings are the path decoded with %2f left as it is, once, twice …; none if
// it never ends or is not decodable.
func decodings(path string) []string {
	kept, ok := decode(path, true)
	if !ok {
		return nil
	}
	all := []string{kept}
	for range mostDecoded {
		next, ok := decode(path, false)
		if !ok && len(all) == 1 {
			return nil
		}
		if !ok || next == path {
			return all // a server that decodes again would find nothing to decode
		}
		all, path = append(all, next), next
	}
	if strings.Contains(path, "%") {
		return nil
	}
	return all
}

func decode(path string, keepSlash bool) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] != '%' {
			b.WriteByte(path[i])
			continue
		}
		if i+2 >= len(path) {
			return "", false
		}
		high, low := hexDigit(path[i+1]), hexDigit(path[i+2])
		if high < 0 || low < 0 {
			return "", false
		}
		if c := byte(high<<4 | low); c == '/' && keepSlash {
			b.WriteString("%2F")
		} else {
			b.WriteByte(c)
		}
		i += 2
	}
	return b.String(), true
}

func hexDigit(c byte) int {
	if 'A' <= c && c <= 'F' {
		c += 'a' - 'A'
	}
	return strings.IndexByte("0123456789abcdef", c)
}

func withoutParameters(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";")
	}
	return strings.Join(segments, "/")
}

// addResolved adds the path with its dots resolved, before and after // became /.
func addResolved(all []string, path string) []string {
	for _, segments := range [][]string{strings.Split(path, "/"), slices.DeleteFunc(strings.Split(path, "/"), isEmpty)} {
		if clean := resolveDots(segments); !slices.Contains(all, clean) {
			all = append(all, clean)
		}
	}
	return all
}

func isEmpty(segment string) bool { return segment == "" }

func resolveDots(segments []string) string {
	var kept []string
	for i, s := range segments {
		switch {
		case s == "..":
			kept = kept[:max(0, len(kept)-1)]
		case s == "." || i == 0 && s == "":
		default:
			kept = append(kept, s)
		}
	}
	return "/" + strings.Join(slices.DeleteFunc(kept, isEmpty), "/")
}
