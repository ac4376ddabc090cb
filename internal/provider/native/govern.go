//go:build linux

package native

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cgroup"
	"github.com/forkbox/forkbox/internal/freezer"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

var (
	_ forkbox.Governor = (*Provider)(nil)
	_ forkbox.Governed = (*instance)(nil)
)

// governor holds boxes to what they may use: it makes their cgroups and sets the
// quota of their files, where the host lets it.
type governor struct {
	home     string
	store    *layers.Store
	log      *slog.Logger
	groups   *cgroup.Host // nil where the host lets us make none
	noGroups error        // why
	starts   atomic.Int64
}

func newGovernor(home string, store *layers.Store, log *slog.Logger) *governor {
	g := &governor{home: home, store: store, log: log}
	g.open()
	g.starts.Store(time.Now().UnixMilli()) // not those of an earlier daemon
	return g
}

// Holds says what holds each limit on this host.
func (p *Provider) Holds() map[forkbox.Resource]forkbox.Holding { return p.governor.holds() }

func (g *governor) holds() map[forkbox.Resource]forkbox.Holding {
	holds := map[forkbox.Resource]forkbox.Holding{}
	if g.groups != nil {
		maps.Copy(holds, g.groups.Holds())
	} else {
		maps.Copy(holds, cgroup.NotHeld(g.noGroups))
	}
	holds[forkbox.Disk], holds[forkbox.Inodes] = g.store.Quota()
	for _, r := range forkbox.Resources {
		if !r.OfHost() {
			holds[r] = forkbox.Holding{How: forkbox.Enforced}
		}
	}
	return holds
}

// Limit has the policy of a box hold.
func (p *Provider) Limit(ctx context.Context, box forkbox.Box, running forkbox.Instance) error {
	if err := p.governor.canHold(box); err != nil {
		return err
	}
	if i, ok := running.(*instance); ok && i != nil {
		if err := i.enclosure.limitTo(box.Policy); err != nil {
			return err
		}
	}
	return p.governor.quota(ctx, box, true)
}

// canHold fails closed: the host may have been able to hold a limit when the
// box was made, and not be now.
func (g *governor) canHold(box forkbox.Box) error {
	if len(box.Policy) == 0 {
		return nil
	}
	holds := g.holds()
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

func (e *enclosure) limitTo(policy forkbox.Policy) error {
	if e.group != nil {
		if err := e.group.Set(grouped(policy)); err != nil {
			return err
		}
	}
	e.know(policy)
	return nil
}

// know notes what limits the box has.
func (e *enclosure) know(policy forkbox.Policy) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.limits = policy.Limits()
}

// quota limits the disk that the box may still use: what it saved in snapshots
// counts too. Boxes without a limit cost nothing here, unless they had one.
func (g *governor) quota(ctx context.Context, box forkbox.Box, had bool) error {
	bytes, limited := held(box.Policy, forkbox.Disk)
	inodes, few := held(box.Policy, forkbox.Inodes)
	if !limited && !few && !had {
		return nil
	}
	if limited {
		saved, err := g.store.Saved(box.ID, saves(box))
		if err != nil {
			return err
		}
		bytes = max(1, bytes-saved)
	}
	return forkbox.Wrap("limit the box's disk", g.store.SetQuota(ctx, box.ID, bytes, inodes))
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

// Reserve limits all boxes together, so that the host keeps something.
func (p *Provider) Reserve(l forkbox.Limits) error {
	return p.governor.reserve(l)
}

func (g *governor) reserve(l forkbox.Limits) error {
	if g.groups == nil {
		return g.noGroups
	}
	return g.groups.Reserve(l)
}

// openGroups finds where the cgroups of this store's boxes can be made, and
// removes what boxes of a daemon that crashed left of theirs.
func (g *governor) open() {
	sum := sha256.Sum256([]byte(g.home))
	g.groups, g.noGroups = cgroup.Open("forkbox-" + hex.EncodeToString(sum[:4]))
	if g.noGroups != nil {
		g.log.Debug("boxes have no cgroups", "why", g.noGroups)
		g.groups = nil
		return
	}
	g.groups.SetIOPaths([]string{"/", g.home})
	if err := g.groups.Sweep(); err != nil {
		g.log.Warn("cannot remove cgroups of boxes that are gone", "error", err)
	}
}

// close removes the groups that are not in use.
func (g *governor) close() error {
	if g.groups == nil {
		return nil
	}
	// What was still busy when this daemon began, a spare that another one was
	// making when it was killed, has ended by now.
	return errors.Join(g.groups.Sweep(), g.groups.Close())
}

// namespaces says whether boxes may make cgroup namespaces.
func (g *governor) namespaces() bool { return g.groups != nil && g.groups.Namespaces() }

// check says where the cgroups of boxes are; what they can limit is for
// holds to say.
func (g *governor) check() forkbox.Check {
	c := forkbox.Check{Name: "cgroups", Status: forkbox.OK}
	if g.groups == nil {
		c.Status, c.Detail = forkbox.Warn, "boxes have none: "+cgroup.NotHeld(g.noGroups)[forkbox.Memory].Why
		c.Remedy = cgroup.NotHeld(g.noGroups)[forkbox.Memory].Hint
		return c
	}
	c.Detail = fmt.Sprintf("version %d; one for each box, in %s", g.groups.Version(), g.groups.Place())
	return c
}

// group makes the cgroups of a box that is about to start, with the limits it
// has. It returns nil where the host does not let us.
func (g *governor) group(box forkbox.Box) (*cgroup.Group, error) {
	if g.groups == nil {
		return nil, nil
	}
	// A name of its own for each start: the groups of the last one may not be
	// gone yet.
	made, err := g.groups.New(box.ID + "-" + strconv.FormatInt(g.starts.Add(1), 36))
	if err != nil {
		return nil, forkbox.Wrap("make the box's cgroup", err)
	}
	if limits := grouped(box.Policy); len(limits) > 0 {
		if err := made.Set(limits); err != nil {
			return nil, errors.Join(err, made.Remove(context.Background()))
		}
	}
	return made, nil
}

// groupOf is the cgroup that a box's init is in.
func (g *governor) groupOf(process *linux.Process) *cgroup.Group {
	if g.groups == nil {
		return nil
	}
	found, err := g.groups.Find(process.PID)
	if err != nil {
		return nil // of a daemon that could make none
	}
	return found
}

// enclosed makes the box's cgroup, opens the way into it, and limits the disk.
func (g *governor) enclosed(ctx context.Context, plan *plan) (*cgroup.Group, error) {
	if err := g.quota(ctx, plan.box, false); err != nil {
		return nil, err
	}
	group, err := g.group(plan.box)
	if err != nil || group == nil {
		return nil, err
	}
	entry, err := disowned(group.Init())
	if err != nil {
		return nil, errors.Join(err, group.Remove(context.WithoutCancel(ctx)))
	}
	plan.enter = entrance(entry)
	return group, nil
}
