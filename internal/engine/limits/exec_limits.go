package limits

import (
	"maps"
	"math"
	"time"

	"github.com/forkbox/forkbox"
)

// ExecPolicy is what holds for an exec: its own limits, narrowed by its box's.
func (m *Manager) ExecPolicy(box forkbox.Box, who forkbox.Owner, wish forkbox.Wish, timeout time.Duration) (forkbox.Policy, error) {
	if _, said := wish.Limits[forkbox.Timeout]; timeout > 0 && !said {
		wish.Limits = maps.Clone(wish.Limits)
		if wish.Limits == nil {
			wish.Limits = forkbox.Limits{}
		}
		wish.Limits[forkbox.Timeout] = int64(timeout)
	}
	wish.BestEffort = wish.BestEffort || box.BestEffort
	policy, err := m.policies.Resolve(who, wish, m.holds(box.Net), box.Policy, true)
	return policy, forkbox.Wrap("limit the command", err)
}

// LimitExec puts the policy into what the instance is told. It returns how much
// output is kept.
func (m *Manager) LimitExec(spec *forkbox.ExecSpec, policy forkbox.Policy) (kept int64) {
	spec.Timeout = 0
	if v, has := policy.Of(forkbox.Timeout); has {
		spec.Timeout = time.Duration(v)
	}
	spec.Limits = nil
	for r, rule := range policy {
		if rule.Value != forkbox.Unlimited && rule.How == forkbox.Enforced {
			spec.Limits = set(spec.Limits, r, rule.Value)
		}
	}
	rule, has := policy[forkbox.Kept]
	switch {
	case !has:
		return m.logCap
	case rule.Value == forkbox.Unlimited:
		return math.MaxInt64
	}
	return rule.Value
}

func set(l forkbox.Limits, r forkbox.Resource, v int64) forkbox.Limits {
	if l == nil {
		l = forkbox.Limits{}
	}
	l[r] = v
	return l
}
