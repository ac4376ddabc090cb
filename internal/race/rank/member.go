package rank

import (
	"cmp"
	"slices"

	"github.com/forkbox/forkbox"
)

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
