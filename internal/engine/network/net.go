package network

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Network is what network a box has, and what it may reach.
func (m *Manager) Network(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Net, forkbox.Network, error) {
	box, err := m.core.Box(ctx, who, ref)
	return box.Net, box.Network, err
}

// Allow puts rules in front of a box's own, at once also of one that runs, or
// takes rules of its own away. Rules are "allow X" or "deny X"; one to take
// away may be named by its X. All of it holds, or nothing changed.
func (m *Manager) Allow(ctx context.Context, who forkbox.Owner, ref string, rules []string, remove bool) (forkbox.Box, error) {
	const op = "change the network"
	return m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if err := core.Usable(op, *box); err != nil {
			return err
		}
		a, err := m.core.Find(ctx, h, box)
		if err != nil {
			return err
		}
		next, err := m.withRules(op, *box, rules, remove)
		if err != nil {
			return err
		}
		told := m.core.About(next, forkbox.EventNetwork, changeText(rules, remove)+", by "+core.ByUser(who))
		return m.setNetwork(context.WithoutCancel(ctx), h, a, box, next, core.With(told, forkbox.EventData{By: core.ByUser(who)}))
	})
}

func changeText(rules []string, remove bool) string {
	const few = 5 // a list as long as allowed would be an event of a megabyte
	text := strings.Join(rules[:min(few, len(rules))], ", ")
	text = text[:min(len(text), 1000)]
	if more := len(rules) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if remove {
		return "removed " + text
	}
	return "added " + text
}

// withRules is the box as it is to be.
func (m *Manager) withRules(op string, box forkbox.Box, rules []string, remove bool) (forkbox.Box, error) {
	if err := m.gated(op, box); err != nil {
		return box, err
	}
	wish := forkbox.NetWish{}
	if box.Network.Asked != nil {
		wish = cloneWish(*box.Network.Asked)
	}
	var err error
	if remove {
		wish.Rules, err = withoutRules(op, box, wish.Rules, rules)
	} else {
		wish.Rules, err = addedRules(op, wish.Rules, rules)
	}
	if err != nil {
		return box, err
	}
	return m.rewished(box, wish)
}

// rewished is the box with another wish. What was made for it stays its own.
func (m *Manager) rewished(box forkbox.Box, wish forkbox.NetWish) (forkbox.Box, error) {
	was := box.Network
	t, err := m.resolveNet(box.Owner, OriginOf(box.Net, was).word, wish)
	if err != nil {
		return box, err
	}
	next := Clone(t.Network)
	next.Ports, next.CA = slices.Clone(was.Ports), core.OrElse(next.CA, was.CA)
	if next.Secrets == nil {
		next.Secrets = maps.Clone(was.Secrets)
	}
	maps.Copy(next.Secrets, was.Secrets)
	box.Network = next
	return box, nil
}

// gated refuses a box without a gate.
func (m *Manager) gated(op string, box forkbox.Box) error {
	switch {
	case box.Net != forkbox.NetPolicy:
		return forkbox.Errorf(forkbox.Invalid, op, "the network of %s is %q, which has no rules", box.Name, box.Net).
			Hint("a fork of it can have some: forkbox fork %s --net policy", box.Name)
	case m.networks == nil:
		return forkbox.Errorf(forkbox.Unsupported, op, "this daemon opens no gates for boxes")
	}
	return nil
}

// setNetwork writes what network a box is to have, and then has it hold.
func (m *Manager) setNetwork(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box, next forkbox.Box, told forkbox.Event) error {
	if err := m.PrepareNet(&next); err != nil {
		return err
	}
	if err := m.core.Ledger.UpdateBox(ctx, next, told); err != nil {
		return err
	}
	if err := m.UpdateGate(h, a, next); err != nil {
		back := m.core.About(*box, forkbox.EventNetwork, "taken back: "+err.Error())
		return errors.Join(err, m.core.Ledger.UpdateBox(ctx, *box, back), m.backTo(h, a, *box))
	}
	*box = next
	if a != nil {
		h.Govern(a, next)
	}
	return nil
}

// backTo has a gate do again what it did before a change failed half-way. Where
// that fails, too, it is not known what it lets through: it is closed, and opened
// anew before the next command.
func (m *Manager) backTo(h *core.Handle, a *core.Attached, was forkbox.Box) error {
	err := m.UpdateGate(h, a, was)
	if err != nil {
		m.CloseGate(h, a)
	}
	return err
}

// UpdateGate tells the gate of a box that runs what holds now.
func (m *Manager) UpdateGate(h *core.Handle, a *core.Attached, box forkbox.Box) error {
	if a == nil {
		return nil
	}
	gate := gateOf(h, a)
	if gate == nil {
		return nil
	}
	return forkbox.Wrap("change the gate", gate.Update(box))
}

// Explain says what the gate of a box would make of a URL, host:port or
// address.
func (m *Manager) Explain(ctx context.Context, who forkbox.Owner, ref, target string) (v forkbox.NetVerdict, err error) {
	const op = "explain"
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return v, err
	}
	defer end()
	box, err := m.core.Resolve(ctx, who, ref)
	switch {
	case err != nil:
		return v, err
	case strings.TrimSpace(target) == "":
		return v, forkbox.Errorf(forkbox.Invalid, op, "it is not said what").Hint("name a URL, HOST:PORT or an address")
	case box.Net == forkbox.NetPolicy && m.networks == nil:
		return v, m.gated(op, box)
	case box.Net == forkbox.NetPolicy:
		v, err = m.networks.Explain(ctx, box, target)
	default:
		v = ungatedVerdict(box, target)
	}
	return v, forkbox.Wrap(op, err)
}

// ungatedVerdict is that on a box which has no gate to ask.
func ungatedVerdict(box forkbox.Box, target string) forkbox.NetVerdict {
	v := forkbox.NetVerdict{Target: forkbox.NetTarget{Host: target}}
	if box.Net == forkbox.NetHost {
		v.Allowed, v.Why = true, "the box shares the host's network, where nothing is decided"
		return v
	}
	v.Why, v.Remedy = "the box has no network", "forkbox fork "+box.Name+" --net policy"
	return v
}
