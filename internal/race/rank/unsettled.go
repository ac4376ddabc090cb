package rank

import "github.com/forkbox/forkbox"

// Need is somebody who must be measured once more.
type Need struct {
	Metric   int // in RaceSpec.Metrics
	Approach string
}

// Unsettled says who must be measured more before there is a verdict: the
// leaders whom noise may have put in their order. Those of the first metric come
// first; who has no time left for that may go on with the next, which decides
// if they tie. It does not know budgets, and waits for nobody's first runs: who
// has no value is not named.
func Unsettled(spec forkbox.RaceSpec, entries []forkbox.Entry) []Need {
	leaders := members(spec, entries)
	for _, r := range []rule{byOutcome{}, byScore{}} {
		if len(leaders) > 1 {
			leaders = r.split(leaders)[0]
		}
	}
	if len(leaders) < 2 || !leaders[0].good() {
		return nil
	}
	var needs []Need
	for i, m := range spec.Metrics {
		r := byMetric{i, m}
		if open := r.leaders(leaders, ahead); len(open) > 1 {
			needs = append(needs, r.needs(open)...)
		}
		if leaders = r.leaders(leaders, verdict); len(leaders) < 2 {
			return needs
		}
	}
	return needs
}

// needs are those of a group who have fewer values than there may be. A number
// that is the same each time, for all of them, stays so.
func (r byMetric) needs(group []*member) (needs []Need) {
	_, most, _ := Plan(r.metric)
	varies := false
	for _, m := range group {
		s := m.samples[r.i]
		if len(s) == 0 {
			return nil
		}
		varies = varies || r.metric.Time || len(s) == 1 || !s.steady()
		if len(s) < most {
			needs = append(needs, Need{r.i, m.Name})
		}
	}
	if !varies {
		return nil
	}
	return needs
}
