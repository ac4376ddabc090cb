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

// ask is what a box wants to reach, put so that rules can be compared.
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

// portSet is a set of ports. There are so few of them that one bit for each is
// the simplest, and rules with many ports cost no more than others.
type portSet [1 << 16 / 64]uint64

func (s *portSet) add(first, last int) {
	for p := first; p <= last; {
		if p%64 == 0 && p+63 <= last {
			s[p/64] = ^uint64(0)
			p += 64
			continue
		}
		s[p/64] |= 1 << (p % 64)
		p++
	}
}

func (s *portSet) meets(other *portSet) bool {
	for i := range s {
		if other != nil && s[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

// ports are the rule's.
func (r Rule) ports() *portSet {
	var s portSet
	if len(r.Ports) == 0 {
		s.add(1, 1<<16-1)
	}
	for _, p := range r.Ports {
		s.add(p.First, p.Last)
	}
	return &s
}

// reach is where a list lets a box get on some port.
type reach struct {
	allowed *portSet // nil: none
	by      *entry   // the first that allows something
	against *entry   // the first that denies something
	meant   *entry   // the first that denies something in so many words: "deny *" is the default
}

// reach goes through the list for all ports at once. With maybe, what a range
// of addresses allows counts although the address is not known yet.
func (l list) reach(a ask, maybe bool) *reach {
	got := &reach{}
	var decided *portSet // most names are in no rule at all: they cost nothing
	for i := range l {
		e := &l[i]
		if e.Proto != "any" && e.Proto != a.proto || e.HTTP() && e.Allow == a.pinned {
			continue
		}
		unknown := maybe && e.Host == "" && e.Allow && !a.place.addr.IsValid()
		if !unknown && !e.about(a) {
			continue
		}
		if decided == nil {
			decided, got.allowed = &portSet{}, &portSet{}
		}
		got.take(e, decided, !unknown)
	}
	return got
}

// take counts an entry for the ports that are not decided yet.
func (r *reach) take(e *entry, decided *portSet, final bool) {
	ports, some := e.ports(), false
	for i := range ports {
		open := ports[i] &^ decided[i]
		some = some || open != 0
		if e.Allow {
			r.allowed[i] |= open
		}
		if final {
			decided[i] |= open
		}
	}
	r.note(e, some)
}

func (r *reach) note(e *entry, some bool) {
	switch {
	case !some:
	case e.Allow && r.by == nil:
		r.by = e
	case !e.Allow && r.against == nil:
		r.against = e
	}
	if some && !e.Allow && e.Host != "*" && r.meant == nil {
		r.meant = e
	}
}
