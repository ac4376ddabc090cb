// Package rank judges the approaches of a race: what their checks say, which
// numbers differ by more than noise, who comes before whom and why. It is pure:
// the same entries, in whatever order, always end in the same verdict.
//
// Entry.Checks[i] is about RaceSpec.Checks[i] everywhere here, and
// Entry.Metrics[i] about RaceSpec.Metrics[i].
package rank

import (
	"cmp"
	"slices"

	"github.com/forkbox/forkbox"
)

// Rank puts entries in order, the best first, and says who wins and why. In
// what order they come does not matter: the list of approaches decides where
// nothing else does. Approaches that cannot be told apart share a rank. None
// wins that has not passed.
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

// member is an entry while it is ranked.
type member struct {
	*forkbox.Entry
	at      int      // in the list of approaches
	samples []sample // by metric; none where it has no value
}

// members are in the order of the list, whatever order entries came in.
func members(spec forkbox.RaceSpec, entries []forkbox.Entry) []*member {
	place := map[string]int{}
	for i, a := range spec.Approaches {
		place[a.Name] = i
	}
	all := make([]*member, len(entries))
	for i := range entries {
		e := entries[i]
		at, known := place[e.Name]
		if !known {
			at = len(spec.Approaches)
		}
		all[i] = &member{Entry: &e, at: at, samples: samplesOf(spec, e)}
	}
	slices.SortStableFunc(all, inList)
	return all
}

func samplesOf(spec forkbox.RaceSpec, e forkbox.Entry) []sample {
	list := make([]sample, len(spec.Metrics))
	for i := range min(len(list), len(e.Metrics)) {
		list[i] = sampleOf(e.Metrics[i].Values)
	}
	return list
}

func inList(a, b *member) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Box, b.Box))
}

// class sorts outcomes; those of one class are alike.
func (m *member) class() int {
	switch m.Outcome {
	case forkbox.OutcomePassed:
		return 0
	case forkbox.OutcomeFlaky:
		return 1
	case forkbox.OutcomeFailed:
		return 2
	case forkbox.OutcomeLimited, forkbox.OutcomeTimedOut, forkbox.OutcomeBroken, forkbox.OutcomeError:
		return 3
	case forkbox.OutcomeCancelled:
		return 4
	}
	return 5 // it has not ended
}

// good says whether it can win.
func (m *member) good() bool { return m.class() < 2 }

// judged says whether checks have spoken: who did not get there did nothing
// that could be compared.
func (m *member) judged() bool { return m.class() < 3 }

// fault is why it is not among the best.
func (m *member) fault() string {
	if m.Why != "" {
		return clipped(m.Why)
	}
	switch m.Outcome {
	case forkbox.OutcomeFlaky, forkbox.OutcomeFailed:
		if _, _, why := Judge(m.Checks); why != "" {
			return why
		}
		return "its checks failed"
	case forkbox.OutcomeBroken:
		return "a step of it failed"
	case forkbox.OutcomeTimedOut:
		return "it took longer than it may"
	case forkbox.OutcomeLimited:
		return "it met a limit of its box"
	case forkbox.OutcomeCancelled:
		return "it was cancelled"
	case forkbox.OutcomeError:
		return "its box was lost"
	}
	return "it has not ended"
}
