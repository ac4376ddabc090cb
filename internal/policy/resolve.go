package policy

import (
	"github.com/forkbox/forkbox"
)

// Request is what a policy is made for: a box or, with Exec, an exec in one.
type Request struct {
	Owner forkbox.Owner
	Wish  forkbox.Wish
	// Holds is how this host holds each resource. What is not in it is not
	// held, but for what forkbox itself counts.
	Holds map[forkbox.Resource]forkbox.Holding
	Exec  bool
	// Box is the policy of the exec's box. An exec has the project's limits
	// through its box: Wish.Project is the box's, and not looked at.
	Box forkbox.Policy
}

// Resolve makes the policy. Each value is the first of what was said for the
// box, by the project, by the defaults; then the user's and the host's floor
// narrow it. A wish of the owner's that the floor does not allow is Denied, so
// that the owner does not believe in more than they have; a project's is
// narrowed: it was written for many hosts. A limit that was asked for and is not
// enforced on this host is Unsupported, unless the wish accepts that.
func (c Config) Resolve(r Request) (forkbox.Policy, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	policy := forkbox.Policy{}
	for _, res := range forkbox.Resources {
		w, has := c.wanted(r, res)
		if !has {
			continue
		}
		rule, err := c.rule(r, res, w)
		if err != nil {
			return nil, err
		}
		policy[res] = rule
	}
	return policy, nil
}

func (r Request) check() error {
	if err := r.Wish.Limits.Check(); err != nil {
		return err
	}
	if !r.Exec {
		return r.Wish.Project.Check()
	}
	for _, res := range r.Wish.Limits.Named() {
		if !res.PerExec() {
			return forkbox.Errorf(forkbox.Invalid, "set the limit "+string(res), "it is the box's, one exec cannot have its own").
				Hint("forkbox set BOX --%s VALUE", res)
		}
	}
	return nil
}

// wanted is what was said of a resource, before anything narrows it. It is
// false where there is no rule to make.
func (c Config) wanted(r Request, res forkbox.Resource) (want, bool) {
	w := r.said(res)
	if v, has := c.Defaults[res]; !w.said && !r.Exec && has {
		w.bound = bound{v, fromDefault}
	}
	if r.Exec && !w.asked && !perProcess(res) {
		return w, false // its box's cgroup holds it
	}
	floor, _ := c.Floor(r.Owner, res)
	return w, w.said || w.value != forkbox.Unlimited || floor != forkbox.Unlimited
}

// want is how much of a resource is wanted.
type want struct {
	bound
	said  bool // it was chosen: unlimited is then an answer too
	asked bool // it was asked for now: refuse rather than weaken it
	exact bool // the floor may not narrow it without a word
}

func (r Request) said(res forkbox.Resource) want {
	if v, has := r.Wish.Limits[res]; has {
		from := fromBox
		if r.Exec {
			from = fromExec
		}
		return want{bound{v, from}, true, true, true}
	}
	if rule, has := r.Box[res]; r.Exec && has {
		return want{bound: bound{rule.Value, rule.From}, said: true}
	}
	if v, has := r.Wish.Project[res]; !r.Exec && has {
		return want{bound{v, projectSource(r.Wish.ProjectFile)}, true, true, false}
	}
	return want{bound: bound{value: forkbox.Unlimited}}
}

// perProcess is what has no cgroup that holds it for all execs of a box: each
// exec is given the box's.
func perProcess(res forkbox.Resource) bool { return res.Info().Scope == forkbox.OfEachExec }

func (c Config) rule(r Request, res forkbox.Resource, w want) (forkbox.Rule, error) {
	floor := c.floorFor(r, res)
	if forkbox.Tighter(floor.value, w.value) {
		if w.exact {
			return forkbox.Rule{}, tooMuch(r, res, w, floor)
		}
		w.bound = floor
	}
	return r.hold(res, w)
}

// floorFor is, for an exec, also what its box allows. A default that the box
// has only for its execs to start with is none: an exec may go beyond it.
func (c Config) floorFor(r Request, res forkbox.Resource) bound {
	var floor bound
	floor.value, floor.from = c.Floor(r.Owner, res)
	rule, has := r.Box[res]
	if !r.Exec || !has || perProcess(res) && rule.From == fromDefault {
		return floor
	}
	return floor.or(bound{rule.Value, fromBox})
}

func tooMuch(r Request, res forkbox.Resource, w want, floor bound) error {
	who := "the " + floor.from + " allows"
	if floor.from == fromUser {
		who = "the host allows user " + r.Owner.Name
	}
	most := forkbox.FormatLimit(res, floor.value)
	err := forkbox.Errorf(forkbox.Denied, "set the limit "+string(res), "%s is too much: %s %s at most",
		forkbox.FormatLimit(res, w.value), who, most)
	if floor.from == fromBox {
		return err.Hint("forkbox set BOX --%s %s first", res, forkbox.FormatLimit(res, w.value))
	}
	return err.Hint("--%s %s is the most; the daemon's config.yaml says so", res, most)
}
