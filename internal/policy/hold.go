package policy

import "github.com/forkbox/forkbox"

// hold says how the host holds a value, and refuses one that was asked for and
// is not enforced.
func (r Request) hold(res forkbox.Resource, w want) (forkbox.Rule, error) {
	rule := forkbox.Rule{Value: w.value, From: w.from, How: forkbox.Enforced}
	if w.value == forkbox.Unlimited {
		return rule, nil // there is nothing to hold
	}
	h := r.holding(res)
	if w.asked && h.How != forkbox.Enforced && !r.Wish.BestEffort {
		return forkbox.Rule{}, notEnforced(res, h)
	}
	rule.How, rule.Why = h.How, h.Why
	return rule, nil
}

func (r Request) holding(res forkbox.Resource) forkbox.Holding {
	h, told := r.Holds[res]
	switch {
	case !told && !res.OfHost():
		return forkbox.Holding{How: forkbox.Enforced}
	case h.How == forkbox.Enforced:
		return forkbox.Holding{How: forkbox.Enforced}
	case h.How != forkbox.Watched:
		h.How = forkbox.NotEnforced
	}
	if h.Why == "" {
		h.Why = "nothing on this host can enforce it"
	}
	return h
}

func notEnforced(res forkbox.Resource, h forkbox.Holding) error {
	how := "this host cannot hold it"
	if h.How == forkbox.Watched {
		how = "this host can only watch it"
	}
	err := forkbox.Errorf(forkbox.Unsupported, "set the limit "+string(res), "%s: %s", how, h.Why)
	if h.Hint != "" {
		err = err.Hint("%s", h.Hint)
	}
	return err.Hint("--limits=best-effort takes it as it is (%s)", h.How)
}
