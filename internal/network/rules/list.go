package rules

import (
	"strings"

	"github.com/forkbox/forkbox"
)

// entry is a rule in a list.
type entry struct {
	readRule
	wrote   forkbox.NetRule
	project bool // a project's file wrote it
}

// list is in order: the first entry that matches decides.
type list []entry

func newList(rules []forkbox.NetRule) (list, error) {
	if len(rules) > MostRules {
		return nil, forkbox.Errorf(forkbox.Invalid, "use these rules", "there are %d, and %d is the most", len(rules), MostRules)
	}
	l := make(list, 0, len(rules))
	for _, wrote := range rules {
		r, err := read(wrote.Rule)
		if err != nil {
			return nil, err
		}
		l = append(l, entry{r, wrote, isProject(wrote.From)})
	}
	return l, nil
}

const projectPrefix = "project"

func isProject(from string) bool {
	return from == projectPrefix || strings.HasPrefix(from, projectPrefix+" ")
}

// ask is what somebody wants to reach, put so that rules can be compared.
type ask struct {
	box   string // whose it is, for remedies
	host  string // "": by address
	place place
	proto string
	port  int
	// pinned hosts show no requests: a rule that allows some of them allows
	// none, and one that denies some denies all.
	pinned bool
	// request says that method and path are known and count.
	request  bool
	method   string
	readings []string
}

// about says whether the entry's target is what is asked for.
func (e entry) about(a ask) bool {
	if e.Host != "" {
		if a.host == "" || !covers(e.Host, a.host) {
			return false
		}
	} else if !a.place.in(e.Prefix, e.Allow) {
		return false
	}
	return !e.Allow || a.place.opens(e)
}

// decides says whether the entry is the one that decides.
func (e entry) decides(a ask) bool {
	if !e.covers(a.proto, a.port) || !e.about(a) {
		return false
	}
	switch {
	case !e.HTTP():
		return true
	case a.pinned:
		return !e.Allow
	case a.request:
		return e.hasMethod(a.method) && e.hasPath(a.readings)
	}
	return e.Allow // a connection: its requests are judged one by one
}

// first is the entry that decides, nil if none does.
func (l list) first(a ask) *entry {
	for i := range l {
		if l[i].decides(a) {
			return &l[i]
		}
	}
	return nil
}

// needsRequests says whether what is asked for depends on the requests that
// are made: some entry about them comes before one that decides for all.
func (l list) needsRequests(a ask) bool {
	denies := false
	for _, e := range l {
		switch {
		case !e.covers(a.proto, a.port) || !e.about(a):
		case e.HTTP() && e.Allow:
			return true
		case e.HTTP():
			denies = true
		default:
			return e.Allow && denies
		}
	}
	return false
}
