package limits

import (
	"maps"
	"time"

	"github.com/forkbox/forkbox"
)

// Policies decides what limits hold and who may begin when.
type Policies interface {
	// Resolve makes the policy of a box or, with exec, of an exec in a box that
	// has the policy box. What cannot be had is an error.
	Resolve(owner forkbox.Owner, wish forkbox.Wish, holds map[forkbox.Resource]forkbox.Holding, box forkbox.Policy, exec bool) (forkbox.Policy, error)
	// Admit says whether one more may begin. It is asked often.
	Admit(now Committed, want Want) Verdict
	// Patience is how long a caller waits who does not say.
	Patience() time.Duration
}

// What admission is decided by, and how.
type (
	Committed     = forkbox.Committed
	UserCommitted = forkbox.UserCommitted
	Want          = forkbox.Want
	Verdict       = forkbox.Verdict
)

// unlimited are the policies of an engine that was given none: every caller is
// admitted, and only what the engine itself holds can be limited.
type unlimited struct{}

func (unlimited) Resolve(_ forkbox.Owner, wish forkbox.Wish, _ map[forkbox.Resource]forkbox.Holding, box forkbox.Policy, exec bool) (forkbox.Policy, error) {
	policy, from := forkbox.Policy{}, "box"
	for r, rule := range box {
		if exec && ownResource(r) && r.PerExec() {
			policy[r] = rule
		}
	}
	if exec {
		from = "exec"
	}
	for _, said := range []struct {
		limits forkbox.Limits
		from   string
	}{{wish.Project, "project " + wish.ProjectFile}, {wish.Limits, from}} {
		for r, v := range said.limits {
			rule := forkbox.Rule{Value: v, From: said.from, How: forkbox.Enforced}
			if !ownResource(r) && v != forkbox.Unlimited {
				rule.How, rule.Why = forkbox.NotEnforced, noLimits
			}
			if rule.How != forkbox.Enforced && !wish.BestEffort {
				return nil, forkbox.Errorf(forkbox.Unsupported, "limit "+string(r), "%s", rule.Why).
					Hint("accept that it does not hold: --limits=best-effort")
			}
			policy[r] = rule
		}
	}
	return policy, nil
}

const noLimits = "this daemon was started without limits"

// ownResource says whether the engine, or what it tells an instance with each
// exec, holds a limit by itself.
func ownResource(r forkbox.Resource) bool {
	h := r.Info().Holder
	return h == forkbox.HeldByClock || h == forkbox.HeldByLog
}

func (unlimited) Admit(Committed, Want) Verdict { return Verdict{OK: true} }
func (unlimited) Patience() time.Duration       { return time.Minute }

// governor is the provider, if it limits what boxes use.
func (m *Manager) governor() forkbox.Governor {
	g, _ := m.core.Provider.(forkbox.Governor)
	return g
}

// holds says how each resource is held on this host for a box with such a
// network. The provider knows of all but what the gate holds.
func (m *Manager) holds(mode forkbox.Net) map[forkbox.Resource]forkbox.Holding {
	g := m.governor()
	if g == nil {
		return nil
	}
	held := g.Holds()
	if !m.network.HasGates() {
		return held
	}
	by := forkbox.Holding{How: forkbox.Enforced}
	if mode == forkbox.NetHost {
		by = forkbox.Holding{How: forkbox.NotEnforced, Why: "the box shares the host's network, which no gate stands before",
			Hint: "use --net policy"}
	}
	held = maps.Clone(held) // which others may hold
	for _, r := range forkbox.ResourcesHeldBy(forkbox.HeldByGate) {
		held[r] = by
	}
	return held
}
