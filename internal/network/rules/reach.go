package rules

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

// reach is where somebody gets with a list on some port.
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
