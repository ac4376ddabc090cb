package rules

import "github.com/forkbox/forkbox"

// allowed is a verdict by a rule.
func allowed(t forkbox.NetTarget, e *entry) forkbox.NetVerdict {
	return forkbox.NetVerdict{Target: t, Allowed: true, Rule: e.wrote, Why: "allowed by " + e.words()}
}

// refused is a verdict that no rule can change.
func refused(t forkbox.NetTarget, why string) forkbox.NetVerdict {
	return forkbox.NetVerdict{Target: t, Why: why}
}

// denied is a verdict by a rule that denies.
func (a ask) denied(t forkbox.NetTarget, e *entry) forkbox.NetVerdict {
	why := "denied by " + e.words()
	if a.pinned && e.HTTP() {
		why += "; " + unseenWords
	}
	return forkbox.NetVerdict{Target: t, Rule: e.wrote, Why: why, Remedy: a.remedy(t)}
}

// unmatched is the verdict where no rule is about the target.
func (a ask) unmatched(t forkbox.NetTarget, why string) forkbox.NetVerdict {
	switch c := a.place.class; {
	case why != "":
	case c == public:
		why = "no rule allows it"
	case c == own:
		why = "it is the host's own address"
	case c >= loopback:
		why = "it is " + classNames[c] + ", which no rule can allow"
	default:
		why = "it is " + classNames[c] + ", and no rule names it"
	}
	return forkbox.NetVerdict{Target: t, Why: why, Remedy: a.remedy(t)}
}

// unseenWords is why rules about requests do not work for a host.
const unseenWords = "the host is pinned, so its requests are not seen"

// floorRefuses is the verdict where the box's rules would allow it.
func floorRefuses(t forkbox.NetTarget, e *entry) forkbox.NetVerdict {
	v := forkbox.NetVerdict{Target: t, Why: "the host's floor does not allow it", Remedy: floorRemedy}
	if e != nil && !e.Allow {
		v.Rule, v.Why = e.wrote, "the host's floor denies it with "+e.words()
	}
	return v
}

const floorRemedy = "the host's config.yaml decides that, under network: floor:"

// words are the rule, and who wrote it.
func (e *entry) words() string {
	return "`" + e.text + "` (" + e.wrote.From + ")"
}
