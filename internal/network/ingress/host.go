package ingress

import (
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
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

// labelsKept is how many labels are remembered, those in use aside.
const labelsKept = 4096

// holder is who a label belongs to. It is not a box's id: a box that is removed
// and made again has the URL that it had.
type holder struct {
	uid  int
	name string
}

// labels says what boxes are called in URLs: by their name, and those of other
// users than the daemon's own by their user as well. So no user ever gets the
// visitors of another's box, not even while it is at rest or the daemon is new.
// Among one user's a label stays with its holder while the daemon runs.
type labels struct {
	own     int // the daemon's user
	holders map[string]holder
	given   map[holder]string
}

func newLabels(own int) labels {
	return labels{own: own, holders: map[string]holder{}, given: map[holder]string{}}
}

// of is the label of a box. used says which ones may not be forgotten.
func (l labels) of(box forkbox.Box, used func(string) bool) (string, error) {
	who := holder{box.Owner.UID, box.Name}
	if label, ok := l.given[who]; ok {
		return label, nil
	}
	for _, label := range l.candidates(box) {
		if _, has := l.holders[label]; !has && validLabel(label) {
			l.forget(used)
			l.holders[label], l.given[who] = who, label
			return label, nil
		}
	}
	return "", forkbox.Errorf(forkbox.Invalid, opURL, "box %q has no name that a URL could have", box.Name).
		Hint("publish the port instead: forkbox port %s PORT", box.Name)
}

// candidates are what a box could be called, the best first. Its id fits always
// and is no other box's name: the engine lets no box be called like an id.
func (l labels) candidates(box forkbox.Box) []string {
	name := box.Name
	if box.Owner.UID != l.own {
		name += "-u" + strconv.Itoa(box.Owner.UID)
	}
	found := []string{name}
	for _, n := range []int{4, 8} {
		if len(box.ID) > n {
			found = append(found, name+"-"+box.ID[:n])
		}
	}
	return append(found, box.ID)
}

// forget makes room once too many labels are remembered.
func (l labels) forget(used func(string) bool) {
	if len(l.holders) < labelsKept {
		return
	}
	for label, who := range l.holders {
		if !used(label) {
			delete(l.holders, label)
			delete(l.given, who)
		}
	}
}
