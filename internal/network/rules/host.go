package rules

import (
	"errors"
	"fmt"
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

// quoted is somebody's text for people to read: one line, not too long.
func quoted(text string) string {
	if len(text) > 80 {
		return fmt.Sprintf("%+q…", text[:80])
	}
	return fmt.Sprintf("%+q", text)
}
