package rank

import (
	"slices"

	"github.com/forkbox/forkbox"
)

// Rank puts entries in order, the best first, and says who wins and why. In
// what order they come does not matter: the list of approaches decides where
// nothing else does. Who cannot be told apart shares a rank. Nobody wins who
// has not passed.
func Rank(spec forkbox.RaceSpec, entries []forkbox.Entry) (ranked []forkbox.Entry, winner, verdict string) {
	r := ranking{spec: spec}
	r.place(members(spec, entries), rulesOf(spec), cause{})
	ranked = make([]forkbox.Entry, 0, len(entries))
	for _, g := range r.groups {
		for _, m := range g.members {
			ranked = append(ranked, *m.Entry)
		}
	}
	if len(r.groups) > 0 && r.groups[0].members[0].good() {
		winner = r.groups[0].members[0].Name
	}
	return ranked, winner, r.verdict()
}

// cause is which rule put a group behind another, and the best of that one.
type cause struct {
	rule    rule
	against *member
}

// placed are those who share a rank.
type placed struct {
	members []*member
	cause   cause
}

type ranking struct {
	spec   forkbox.RaceSpec
	groups []placed
	ranked int // how many are in groups
}

// place splits a group by the first rule, and each part by those that remain.
// why is for the first of them.
func (r *ranking) place(group []*member, rules []rule, why cause) {
	if len(group) == 0 {
		return
	}
	if len(rules) == 0 || len(group) == 1 {
		r.share(group, why)
		return
	}
	parts := rules[0].split(group)
	for i, part := range parts {
		if i > 0 {
			why = cause{rules[0], parts[i-1][0]}
		}
		r.place(part, rules[1:], why)
	}
}

// share gives a group its rank.
func (r *ranking) share(group []*member, why cause) {
	group = slices.Clone(group)
	slices.SortStableFunc(group, inList)
	for i, m := range group {
		m.Rank, m.Ties, m.Reason = r.ranked+1, nil, ""
		for _, other := range group {
			if other != m {
				m.Ties = append(m.Ties, other.Name)
			}
		}
		switch {
		case i > 0:
			m.Reason = "ties with " + group[i-1].Name + ": " + r.likeness(group[i-1], m)
		case why.rule != nil:
			m.Reason = why.rule.blame(m, why.against)
		}
	}
	r.groups = append(r.groups, placed{group, why})
	r.ranked += len(group)
}

const alike = "nothing tells them apart"

// likeness says why nothing tells two apart.
func (r *ranking) likeness(a, b *member) string {
	for i, m := range r.spec.Metrics {
		if text, differ := (byMetric{i, m}).noise(a, b); differ {
			return text
		}
	}
	return alike
}
