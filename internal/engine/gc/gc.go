package gc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/retention"
	"github.com/forkbox/forkbox/internal/review"
)

// GC removes what has served its time: who's boxes, by the policy or by what
// spec says.
func (m *Manager) GC(ctx context.Context, who forkbox.Owner, spec forkbox.GCSpec) (forkbox.GC, error) {
	if err := retention.Check(spec); err != nil {
		return forkbox.GC{}, err
	}
	ctx, end, err := m.core.Begin(ctx, "collect garbage")
	if err != nil {
		return forkbox.GC{}, err
	}
	defer end()
	return m.collect(ctx, &who.UID, spec)
}

// collect decides and removes. A box whose facts changed since it was decided
// about stays until the next time.
func (m *Manager) collect(ctx context.Context, uid *int, spec forkbox.GCSpec) (forkbox.GC, error) {
	gc := forkbox.GC{DryRun: spec.DryRun, Removed: []forkbox.Collected{}, Kept: []forkbox.Collected{}}
	now := m.retention.Load()
	if now.RetentionErr != nil && spec.OlderThan == 0 && spec.IdleFor == 0 && spec.MaxSize == 0 {
		return gc, forkbox.Errorf(forkbox.Invalid, "collect garbage", "the policy cannot be read: %w", now.RetentionErr).
			Hint("correct FORKBOX_RETENTION and restart the daemon, or say what may go: forkbox gc --idle 7d")
	}
	facts, total, err := m.facts(ctx, uid)
	if err != nil {
		return gc, err
	}
	remove, keep := retention.Decide(m.core.Now(), facts, spec, now.Retention, total)
	gc.Kept = append(gc.Kept, keep...)
	for i, c := range remove {
		if err := ctx.Err(); err != nil {
			m.shelf.SweepSoon()
			return gc, forkbox.Errorf(forkbox.Busy, "collect garbage", "it was given up when %d of %d boxes were removed: %w", i, len(remove), err)
		}
		forkbox.ReportOf(ctx)(forkbox.Progress{Step: "removing", Done: int64(i), Total: int64(len(remove)), Unit: "boxes"})
		if !spec.DryRun {
			if err := m.collectOne(ctx, c, facts); err != nil {
				c.Error = core.AsError(err)
			}
		}
		if c.Error == nil {
			gc.Freed += c.Bytes
		}
		gc.Removed = append(gc.Removed, c)
	}
	if !spec.DryRun {
		m.shelf.SweepSoon()
		m.tellCollected(uid, gc)
	}
	return gc, nil
}

// tellCollected tells how much gc removed. That each box is gone is told to its
// owner with the box; this goes to who asked, or to the daemon's user.
func (m *Manager) tellCollected(uid *int, gc forkbox.GC) {
	var data forkbox.EventData
	for _, c := range gc.Removed {
		if c.Error == nil {
			data.Count++
			data.Bytes += c.Bytes
		}
	}
	m.tally.addRun(data)
	if data.Count == 0 {
		return // a look that found nothing changed nothing
	}
	who, by := m.core.UID(), core.ByForkbox
	if uid != nil {
		who, by = *uid, "gc"
	}
	data.By = by
	m.core.Tell(core.With(forkbox.Event{
		Kind: forkbox.EventCollected, UID: who, Text: fmt.Sprintf("%d boxes removed", data.Count),
	}, data))
}

// collectOne removes a box if it still is as it was decided about.
func (m *Manager) collectOne(ctx context.Context, c forkbox.Collected, facts []retention.Facts) error {
	i := slices.IndexFunc(facts, func(f retention.Facts) bool { return f.Box.ID == c.ID })
	was := facts[i]
	_, err := m.core.Change(ctx, "collect garbage", was.Box.Owner, c.ID, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		used, err := m.LastUsed(ctx, *box)
		switch {
		case err != nil:
			return err
		case box.Kept || box.Pinned || used.After(was.LastUsed):
			return forkbox.Errorf(forkbox.Busy, "remove box", "it was used meanwhile")
		}
		if err := m.boxes.InUse(ctx, h, *box); err != nil {
			return err
		}
		return m.boxes.RemoveInTurn(context.WithoutCancel(ctx), h, box)
	})
	if core.IsNotFound(err) {
		return nil
	}
	return err
}

// facts are what is known of boxes when it is decided which may go.
func (m *Manager) facts(ctx context.Context, uid *int) (facts []retention.Facts, total int64, err error) {
	h, err := m.holdings(ctx, "collect garbage")
	if err != nil {
		return nil, 0, err
	}
	for _, b := range h.boxes {
		if uid != nil && b.Owner.UID != *uid {
			continue
		}
		f, err := m.factsOf(ctx, &h, b)
		if err != nil {
			return nil, 0, err
		}
		facts = append(facts, f)
	}
	if uid != nil {
		return facts, h.of(*uid), nil
	}
	return facts, h.stored.Total, nil
}

func (m *Manager) factsOf(ctx context.Context, h *holdings, b forkbox.Box) (f retention.Facts, err error) {
	// What is being saved holds the box's turn; this only was not yet written.
	b.Saving = ""
	f = retention.Facts{Box: b, Bytes: h.boxItem(b).Own, Children: h.children(b)}
	if f.LastUsed, err = m.LastUsed(ctx, b); err != nil {
		return f, err
	}
	own := false
	for _, s := range h.snapshots {
		if s.Box == b.ID {
			f.Snapshots++
			own = own || !s.Auto
		}
	}
	if b.State == forkbox.Running {
		f.Running = m.running(ctx, b.ID)
	}
	if b.State == forkbox.Stopped || b.State == forkbox.Running {
		f.Outcome, err = m.outcome(ctx, b, f.LastUsed)
	}
	if own && f.Outcome != retention.Applied && f.Outcome != retention.Lost {
		f.Outcome = retention.Unreviewed // its owner wanted to be able to come back
	}
	return f, err
}

// children names what lies over layers of a box's snapshots.
func (h *holdings) children(b forkbox.Box) (names []string) {
	mine := map[string]bool{}
	for _, s := range h.snapshots {
		if s.Box == b.ID {
			mine[s.ID] = true
		}
	}
	for _, child := range h.boxes {
		if child.ID != b.ID && mine[child.Parent] {
			names = append(names, child.Name)
		}
	}
	for _, t := range h.templates {
		if mine[t.Parent] {
			names = append(names, "template "+t.Name)
		}
	}
	return names
}

// running says whether a box has processes. One that does not answer has.
func (m *Manager) running(ctx context.Context, id string) bool {
	h := m.core.HandleOf(id)
	if h == nil {
		return false
	}
	a := h.Current()
	if a == nil {
		return false
	}
	ps, err := a.Instance.Processes(ctx)
	return err != nil || core.BeyondInit(ps)
}

// LastUsed is when something last happened to a box.
func (m *Manager) LastUsed(ctx context.Context, b forkbox.Box) (last time.Time, err error) {
	last = b.Created
	later := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	execs, err := m.core.Ledger.Execs(ctx, b.ID)
	if err != nil {
		return last, err
	}
	for _, x := range execs {
		later(x.Started)
		if x.Ended != nil {
			later(*x.Ended)
		}
	}
	snapshots, err := m.core.Ledger.Snapshots(ctx, b.ID)
	for _, s := range snapshots {
		later(s.Created)
	}
	if err != nil {
		return last, err
	}
	receipts, err := m.core.Ledger.ReceiptsOf(ctx, b.ID)
	for _, r := range receipts {
		later(r.Created)
		later(r.Undone)
	}
	if r, ok := m.lostTo(ctx, b); ok {
		later(r.Created)
	}
	return last, err
}

// outcomes remembers what became of boxes that have not been used since: reading
// all changes of all boxes each hour would be too much.
type outcomes struct {
	mu    sync.Mutex
	known map[string]knownOutcome
}

type knownOutcome struct {
	used    time.Time
	outcome retention.Outcome
}

func (m *Manager) outcome(ctx context.Context, b forkbox.Box, used time.Time) (retention.Outcome, error) {
	m.outcomes.mu.Lock()
	known, ok := m.outcomes.known[b.ID]
	m.outcomes.mu.Unlock()
	if ok && known.used.Equal(used) && known.outcome == retention.Unreviewed && !b.Discarded && b.Stale == nil {
		return known.outcome, nil
	}
	o, err := m.FindOutcome(ctx, b)
	if err != nil {
		return "", err
	}
	m.outcomes.mu.Lock()
	defer m.outcomes.mu.Unlock()
	if m.outcomes.known == nil || len(m.outcomes.known) > 10_000 {
		m.outcomes.known = map[string]knownOutcome{}
	}
	m.outcomes.known[b.ID] = knownOutcome{used, o}
	return o, nil
}

// FindOutcome looks at what a box has changed and its owner has not decided about.
func (m *Manager) FindOutcome(ctx context.Context, b forkbox.Box) (retention.Outcome, error) {
	changed, err := m.hasChanges(ctx, b)
	if err != nil {
		m.core.Log.DebugContext(ctx, "cannot tell what became of a box", "box", b.ID, "error", err)
		return "", nil // then it stays
	}
	receipts, err := m.core.Ledger.ReceiptsOf(ctx, b.ID)
	if err != nil {
		return "", err
	}
	landed := slices.ContainsFunc(receipts, func(r forkbox.Receipt) bool { return r.State == forkbox.Applied })
	switch {
	case m.isLost(ctx, b):
		return retention.Lost, nil
	case changed:
		return retention.Unreviewed, nil
	case landed:
		return retention.Applied, nil
	case b.Discarded:
		return retention.Discarded, nil
	}
	execs, err := m.core.Ledger.Execs(ctx, b.ID)
	if n := len(execs); n > 0 && execs[n-1].Exit != nil && execs[n-1].Exit.Code != 0 {
		return retention.Failed, err
	}
	return retention.Untouched, err
}

var errFound = errors.New("found")

// hasChanges says whether a box has changed anything but caches and the like.
func (m *Manager) hasChanges(ctx context.Context, b forkbox.Box) (bool, error) {
	view, err := m.changes.View(ctx, b)
	if err != nil {
		return false, err
	}
	chosen := review.Choose(forkbox.Selection{All: true}, nil, bases.NewSorter(view.Root, b))
	err = view.Each(ctx, chosen, func(x *review.Entry) error {
		if x.Scope == forkbox.Noise {
			return nil
		}
		return errFound
	})
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}

// gcEvery is how often the daemon applies its policy, and gcAfter how long
// after its start it does so first.
const (
	gcEvery = time.Hour
	gcAfter = time.Minute
)

// Tidy applies the policy now and then, until the engine is closed.
func (m *Manager) Tidy() {
	m.core.Work.Go(func() {
		wait := gcAfter
		for {
			select {
			case <-m.core.Ctx.Done():
				return
			case <-time.After(wait):
			}
			wait = gcEvery
			m.tidy()
		}
	})
}

func (m *Manager) tidy() {
	m.services.SweepStills(m.core.Ctx)
	if m.retention.Load().RetentionErr != nil {
		return // said at the start
	}
	gc, err := m.collect(m.core.Ctx, nil, forkbox.GCSpec{})
	if err != nil {
		m.core.Log.Warn("cannot collect garbage", "error", err)
	}
	for _, c := range gc.Removed {
		m.core.Log.Info("removed a box", "box", c.ID, "name", c.Name, "why", c.Why, "error", c.Error)
	}
}

// lostTo is the receipt of the box of the same race that landed instead of one.
// Boxes that are stale because another landed some path have not lost by that.
func (m *Manager) lostTo(ctx context.Context, b forkbox.Box) (forkbox.Receipt, bool) {
	if b.Race == "" || b.Stale == nil || !b.Stale.Lost {
		return forkbox.Receipt{}, false
	}
	r, err := m.core.Ledger.Receipt(ctx, b.Stale.Receipt)
	return r, err == nil && r.BoxName == b.Stale.Box && r.Undone.IsZero()
}

func (m *Manager) isLost(ctx context.Context, b forkbox.Box) bool {
	_, lost := m.lostTo(ctx, b)
	return lost
}

// Keep says whether gc leaves a box alone, whatever its age.
func (m *Manager) Keep(ctx context.Context, who forkbox.Owner, ref string, keep bool) (forkbox.Box, error) {
	return m.core.Change(ctx, "keep box", who, ref, func(ctx context.Context, _ *core.Handle, box *forkbox.Box) error {
		if err := core.Usable("keep box", *box); err != nil || box.Kept == keep {
			return err
		}
		box.Kept = keep
		kind, text := forkbox.EventBoxKept, "gc leaves it alone"
		if !keep {
			kind, text = forkbox.EventBoxUnkept, "gc may remove it"
		}
		told := core.With(m.core.About(*box, kind, text), forkbox.EventData{By: core.ByUser(who)})
		return m.core.Ledger.UpdateBox(ctx, *box, told)
	})
}
