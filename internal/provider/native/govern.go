//go:build linux

package native

import (
	"context"
	"maps"
	"path/filepath"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cgroup"
	"github.com/forkbox/forkbox/internal/freezer"
)

var (
	_ forkbox.Governor = (*Provider)(nil)
	_ forkbox.Governed = (*instance)(nil)
)

// Holds says what holds each limit on this host.
func (p *Provider) Holds() map[forkbox.Resource]forkbox.Holding {
	holds := map[forkbox.Resource]forkbox.Holding{}
	if p.groups != nil {
		maps.Copy(holds, p.groups.Holds())
	} else {
		maps.Copy(holds, cgroup.NotHeld(p.noGroups))
	}
	holds[forkbox.Disk], holds[forkbox.Inodes] = p.store.Quota()
	for _, r := range forkbox.Resources {
		if !r.OfHost() {
			holds[r] = forkbox.Holding{How: forkbox.Enforced}
		}
	}
	return holds
}

// Limit has the policy of a box hold.
func (p *Provider) Limit(ctx context.Context, box forkbox.Box, running forkbox.Instance) error {
	if err := p.canHold(box); err != nil {
		return err
	}
	if i, ok := running.(*instance); ok && i != nil {
		if err := i.limitTo(box.Policy); err != nil {
			return err
		}
	}
	return p.quota(ctx, box, true)
}

// canHold fails closed: the host may have been able to hold a limit when the
// box was made, and not be now.
func (p *Provider) canHold(box forkbox.Box) error {
	if len(box.Policy) == 0 {
		return nil
	}
	holds := p.Holds()
	for r, rule := range box.Policy {
		if h := holds[r]; rule.How == forkbox.Enforced && rule.Value != forkbox.Unlimited && h.How != forkbox.Enforced {
			e := forkbox.Errorf(forkbox.Unsupported, "hold the box to its limits", "%s cannot be limited here now: %s", r, h.Why)
			if h.Hint != "" {
				e.Hint("%s", h.Hint)
			}
			return e.Hint("start it all the same: forkbox set %s --limits=best-effort", box.Name)
		}
	}
	return nil
}

func (i *instance) limitTo(policy forkbox.Policy) error {
	if i.group != nil {
		if err := i.group.Set(grouped(policy)); err != nil {
			return err
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.limits = policy.Limits()
	return nil
}

// quota limits the disk that the box may still use: what it saved in snapshots
// counts too. Boxes without a limit cost nothing here, unless they had one.
func (p *Provider) quota(ctx context.Context, box forkbox.Box, had bool) error {
	bytes, limited := held(box.Policy, forkbox.Disk)
	inodes, few := held(box.Policy, forkbox.Inodes)
	if !limited && !few && !had {
		return nil
	}
	if limited {
		saved, err := p.store.Saved(box.ID, saves(box))
		if err != nil {
			return err
		}
		bytes = max(1, bytes-saved)
	}
	return forkbox.Wrap("limit the box's disk", p.store.SetQuota(ctx, box.ID, bytes, inodes))
}

// saves are the layers in which a box has kept what it wrote.
func saves(box forkbox.Box) []string {
	if box.Saves != nil {
		return box.Saves
	}
	return box.Layers
}

// held is a limit that the host enforces.
func held(policy forkbox.Policy, r forkbox.Resource) (int64, bool) {
	v, has := policy.Of(r)
	if !has || policy[r].How != forkbox.Enforced {
		return forkbox.Unlimited, false
	}
	return v, true
}

// Used is what a box wrote, with what it saved of it.
func (p *Provider) Used(ctx context.Context, box forkbox.Box) (bytes, inodes int64, err error) {
	bytes, inodes, err = p.store.Used(ctx, box.ID)
	if err != nil {
		return 0, 0, err
	}
	saved, err := p.store.Saved(box.ID, saves(box))
	return bytes + saved, max(0, inodes), err // below zero where the store does not count them
}

// Pause has the box's processes stand still, but not its init, which goes on
// answering. No exec is being started meanwhile: a process that enters a group
// that stands still would do so before it has executed the command.
func (i *instance) Pause(ctx context.Context) error {
	if i.noStarts(ctx) == nil {
		defer i.starts.Unlock()
	} // else something hangs in its start, which must not keep the box going
	if err := i.freeze(ctx); err != nil {
		return err
	}
	i.still.Store(true)
	return nil
}

func (i *instance) freeze(ctx context.Context) error {
	if i.group != nil {
		return i.group.Freeze(ctx)
	}
	return freezer.Freeze(ctx, i.process.PID, i.frozenNote())
}

// startLimit is how long a pause waits for what is being started.
const startLimit = 2 * time.Second

// noStarts keeps execs from being started, until starts is unlocked.
func (i *instance) noStarts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	alone := make(chan struct{})
	go func() { i.starts.Lock(); close(alone) }() // who comes now waits
	select {
	case <-alone:
		return nil
	case <-ctx.Done():
		go func() { <-alone; i.starts.Unlock() }()
		return forkbox.Errorf(forkbox.Busy, "have the box stand still", "a command is being started in it: %w", ctx.Err()).Hint("try again")
	}
}

// Resume lets them go on. It waits for nothing: Stop begins with it.
func (i *instance) Resume(ctx context.Context) error {
	i.still.Store(false)
	return i.thaw(ctx)
}

func (i *instance) thaw(ctx context.Context) error {
	if i.group != nil {
		return i.group.Thaw(ctx)
	}
	return freezer.Thaw(i.frozenNote())
}

// paused says whether they stand still now.
func (i *instance) paused() (bool, error) {
	if i.group != nil {
		return i.group.Frozen()
	}
	return freezer.Frozen(i.frozenNote()), nil
}

// StandStill has the box stand still unless it does already; goOn takes that
// back. Execs wait meanwhile.
func (i *instance) StandStill(ctx context.Context) (goOn func() error, err error) {
	if err := i.noStarts(ctx); err != nil {
		return nil, err
	}
	already, err := i.paused()
	if err == nil && !already {
		err = i.freeze(ctx)
	}
	if err != nil {
		i.starts.Unlock()
		return nil, err
	}
	return func() error {
		defer i.starts.Unlock()
		if already {
			return nil
		}
		return i.thaw(context.WithoutCancel(ctx))
	}, nil
}

// PIDs are the host's numbers of the box's processes, but for its init.
func (i *instance) PIDs() []int { return freezer.Descendants(i.process.PID) }

// frozenNote says what has to be let go on should the daemon die meanwhile.
func (i *instance) frozenNote() string { return filepath.Join(filepath.Dir(i.at()), "frozen") }

// Used is what of it counts processors and memory.
func (i *instance) Used(context.Context) (forkbox.Stats, error) {
	if i.group != nil {
		return i.group.Used()
	}
	return i.tally()
}

// Stats is what the box uses.
func (i *instance) Stats(context.Context) (forkbox.Stats, error) {
	if i.group != nil {
		return i.group.Stats()
	}
	return i.tally()
}
