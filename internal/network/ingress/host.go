package ingress

import (
	"strconv"
	"strings"
)

const (
	suffix = ".localhost"

	// labelMax is how long a part of a host name can be.
	labelMax = 63

	// nameMax is what the longest port leaves of it.
	nameMax = labelMax - len("65535--")

	labelBytes = "abcdefghijklmnopqrstuvwxyz0123456789-"
)

// place is what a URL names: a port of the box that goes by a label.
type place struct {
	label string
	port  int
}

func (p place) host() string { return strconv.Itoa(p.port) + "--" + p.label + suffix }

// below cuts what a Host header has in front of .localhost. Not ours is all
// else, localhost itself included: only names that no DNS server answers for
// can be trusted to be meant for this machine.
func below(host string) (rest string, ours bool) {
	host, port, has := strings.Cut(host, ":")
	if has && !digits(port, 5) {
		return "", false
	}
	host = strings.TrimSuffix(lower(host), ".")
	rest, ours = strings.CutSuffix(host, suffix)
	return rest, ours && rest != ""
}

// parsePlace reads PORT--LABEL.
func parsePlace(s string) (place, bool) {
	number, label, has := strings.Cut(s, "--")
	if !has || !validLabel(label) || !digits(number, 5) || number[0] == '0' {
		return place{}, false
	}
	port, err := strconv.Atoi(number)
	if err != nil || port > 65535 {
		return place{}, false
	}
	return place{label, port}, true
}

// validLabel says whether PORT--LABEL is a part of a host name that every
// resolver and browser takes. Names of boxes can be too long for that, or end
// with a dash.
func validLabel(s string) bool {
	return s != "" && len(s) <= nameMax && strings.Trim(s, labelBytes) == "" && s[len(s)-1] != '-' && s[0] != '-'
}

func digits(s string, most int) bool {
	return s != "" && len(s) <= most && strings.Trim(s, "0123456789") == ""
}

// lower is for ASCII only: there are other letters that Unicode makes a k of.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
