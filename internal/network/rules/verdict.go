package rules

import (
	"net/netip"
	"strings"

	"github.com/forkbox/forkbox"
)

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

// remedy is the command that would have the target allowed. What a box sent gets into it only where it is harmless in a
// shell.
func (a ask) remedy(t forkbox.NetTarget) string {
	if a.place.class == loopback {
		return hostPortRemedy(t.Port)
	}
	if a.place.class > loopback {
		return ""
	}
	return "forkbox net allow " + a.box + " '" + a.wanted(t).Object() + "'"
}

// wanted is the narrowest rule that would allow the target.
func (a ask) wanted(t forkbox.NetTarget) Rule {
	r := Rule{Allow: true, Proto: "tcp"}
	if t.Proto != "" {
		r.Proto = t.Proto
	}
	if t.Port > 0 {
		r.Ports = []Ports{{t.Port, t.Port}}
	}
	if byName := a.place.class <= cgnat; t.Host == "" || !byName {
		r.Prefix = netip.PrefixFrom(a.place.addr, a.place.addr.BitLen())
		return r
	}
	r.Host, r.Private = t.Host, a.place.class != public
	if a.request && !a.pinned && isMethod(t.Method) {
		r.Methods, r.Path = []string{t.Method}, a.plainPath()
	}
	return r
}

// plainPath is the request's path if it means but one thing and can be written
// in a rule, and between the quotes of a shell.
func (a ask) plainPath() string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~"
	if len(a.readings) != 1 || len(a.readings[0]) > MostText/2 || strings.Trim(a.readings[0], plain) != "" {
		return ""
	}
	return a.readings[0]
}
