package rank

import (
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
)

// verdict is who wins and why, in a sentence.
func (r *ranking) verdict() string {
	if len(r.groups) == 0 {
		return "nobody wins: there was nothing to try."
	}
	top := r.groups[0].members
	if !top[0].good() {
		return "nobody wins: " + r.defeat() + "."
	}
	text := ""
	switch {
	case len(top) > 1:
		text = r.tie(top)
	case len(r.groups) == 1:
		text = top[0].Name + " wins: " + r.merit(top[0]) + ", and was alone."
	default:
		text = top[0].Name + " wins: " + r.lead(top[0], r.groups[1]) + "."
	}
	if top[0].Outcome == forkbox.OutcomeFlaky {
		text += " But it is flaky: " + top[0].fault() + "."
	}
	return text
}

// tie names those who share the first rank.
func (r *ranking) tie(top []*member) string {
	all := make([]string, len(top))
	for i, m := range top {
		all[i] = m.Name
	}
	why := alike
	for _, m := range top[1:] {
		if why == alike {
			why = r.likeness(top[0], m)
		}
	}
	return fmt.Sprintf("%s tie: %s; %s was listed first.", listed(all), why, top[0].Name)
}

// merit is what an approach that can win did.
func (r *ranking) merit(m *member) string {
	switch {
	case len(r.spec.Checks) == 0:
		return "it ended well"
	case m.Outcome == forkbox.OutcomeFlaky:
		return "it passed every check more often than not"
	}
	return "it passes every check"
}

// lead is why the first is before the next.
func (r *ranking) lead(first *member, next placed) string {
	if _, ok := next.cause.rule.(byOutcome); ok {
		return r.survival(first)
	}
	rival := next.members[0]
	text := next.cause.rule.praise(first, rival)
	for i, m := range r.spec.Metrics {
		if by, ok := next.cause.rule.(byMetric); ok && by.i <= i {
			break
		}
		if noise, differ := (byMetric{i, m}).noise(first, rival); differ {
			return noise + ", and " + text
		}
	}
	return text
}

// survival is why an approach wins whose outcome no other has.
func (r *ranking) survival(first *member) string {
	var others, late []string
	flaky, cancelled := true, false
	for _, g := range r.groups[1:] {
		for _, m := range g.members {
			flaky = flaky && m.Outcome == forkbox.OutcomeFlaky
			cancelled = cancelled || m.Outcome == forkbox.OutcomeCancelled
			if m.Outcome == forkbox.OutcomeTimedOut {
				late = append(late, m.Name)
			} else {
				others = append(others, m.Name)
			}
		}
	}
	switch {
	case r.spec.Stop == forkbox.StopFirstPass && cancelled:
		return r.merit(first) + ", and was the first"
	case flaky:
		return r.merit(first) + " each time" + r.others(others, late)
	}
	return r.merit(first) + r.others(others, late)
}

// others says what became of those who did not win. Who was cut off was not
// checked: it is not known whether they would have passed.
func (r *ranking) others(others, late []string) (text string) {
	not := "do not"
	switch {
	case len(r.spec.Checks) == 0:
		not = "did not"
	case len(others) == 1:
		not = "does not"
	}
	if len(others) > 0 {
		text = fmt.Sprintf(", %s %s", listed(others), not)
	}
	was := "were"
	if len(late) == 1 {
		was = "was"
	}
	if len(late) > 0 {
		text += fmt.Sprintf(", and %s %s not done in time", listed(late), was)
	}
	return text
}

// defeat is why no approach wins.
func (r *ranking) defeat() string {
	var all []*member
	for _, g := range r.groups {
		all = append(all, g.members...)
	}
	if check := commonFailure(all); check != "" && len(all) > 1 {
		return check + " fails in every approach"
	}
	const most = 3
	var parts []string
	for i, m := range all {
		if i == most && len(all) > most+1 {
			parts = append(parts, fmt.Sprintf("and %d more", len(all)-most))
			break
		}
		parts = append(parts, m.Name+": "+m.fault())
	}
	return strings.Join(parts, "; ")
}

// commonFailure is a check that none has passed.
func commonFailure(all []*member) string {
	for i := range all[0].Checks {
		none := true
		for _, m := range all {
			none = none && m.Outcome == forkbox.OutcomeFailed && i < len(m.Checks) && failing(m.Checks[i])
		}
		if none {
			return title(all[0].Checks[i].Name)
		}
	}
	return ""
}
