package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/retention"
	"github.com/forkbox/forkbox/internal/review"
)

// GC removes what has served its time: who's boxes, by the policy or by what
// spec says.
func (e *Engine) GC(ctx context.Context, who forkbox.Owner, spec forkbox.GCSpec) (forkbox.GC, error) {
	if err := retention.Check(spec); err != nil {
		return forkbox.GC{}, err
	}
	ctx, end, err := e.begin(ctx, "collect garbage")
	if err != nil {
		return forkbox.GC{}, err
	}
	defer end()
	return e.collect(ctx, &who.UID, spec)
}

// collect decides and removes. A box whose facts changed since it was decided
// about stays until the next time.
func (e *Engine) collect(ctx context.Context, uid *int, spec forkbox.GCSpec) (forkbox.GC, error) {
	gc := forkbox.GC{DryRun: spec.DryRun, Removed: []forkbox.Collected{}, Kept: []forkbox.Collected{}}
	if e.retentionErr != nil && spec.OlderThan == 0 && spec.IdleFor == 0 && spec.MaxSize == 0 {
		return gc, forkbox.Errorf(forkbox.Invalid, "collect garbage", "the policy cannot be read: %w", e.retentionErr).
			Hint("correct FORKBOX_RETENTION and restart the daemon, or say what may go: forkbox gc --idle 7d")
	}
	facts, total, err := e.facts(ctx, uid)
	if err != nil {
		return gc, err
	}
	remove, keep := retention.Decide(e.now(), facts, spec, e.retention, total)
	gc.Kept = append(gc.Kept, keep...)
	for _, c := range remove {
		if !spec.DryRun {
			if err := e.collectOne(ctx, c, facts); err != nil {
				c.Error = asError(err)
			}
		}
		if c.Error == nil {
			gc.Freed += c.Bytes
		}
		gc.Removed = append(gc.Removed, c)
	}
	if !spec.DryRun {
		e.sweepSoon()
	}
	return gc, nil
}

// collectOne removes a box if it still is as it was decided about.
func (e *Engine) collectOne(ctx context.Context, c forkbox.Collected, facts []retention.Facts) error {
	i := slices.IndexFunc(facts, func(f retention.Facts) bool { return f.Box.ID == c.ID })
	was := facts[i]
	_, err := e.change(ctx, "collect garbage", was.Box.Owner, c.ID, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		used, err := e.lastUsed(ctx, *box)
		switch {
		case err != nil:
			return err
		case box.Kept || box.Pinned || used.After(was.LastUsed):
			return forkbox.Errorf(forkbox.Busy, "remove box", "it was used meanwhile")
		}
		if err := e.inUse(ctx, h, *box); err != nil {
			return err
		}
		return e.remove(context.WithoutCancel(ctx), h, box)
	})
	if isNotFound(err) {
		return nil
	}
	return err
}

// facts are what is known of boxes when it is decided which may go.
func (e *Engine) facts(ctx context.Context, uid *int) (facts []retention.Facts, total int64, err error) {
	h, err := e.holdings(ctx, "collect garbage")
	if err != nil {
		return nil, 0, err
	}
	for _, b := range h.boxes {
		if uid != nil && b.Owner.UID != *uid {
			continue
		}
		f, err := e.factsOf(ctx, &h, b)
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

func (e *Engine) factsOf(ctx context.Context, h *holdings, b forkbox.Box) (f retention.Facts, err error) {
	// What is being saved holds the box's turn; this only was not yet written.
	b.Saving = ""
	f = retention.Facts{Box: b, Bytes: h.boxItem(b).Own, Children: h.children(b)}
	if f.LastUsed, err = e.lastUsed(ctx, b); err != nil {
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
		f.Running = e.running(ctx, b.ID)
	}
	if b.State == forkbox.Stopped || b.State == forkbox.Running {
		f.Outcome, err = e.outcome(ctx, b, f.LastUsed)
	}
	if own && f.Outcome != retention.Applied && f.Outcome != retention.Lost {
		f.Outcome = retention.Unreviewed // somebody wanted to be able to come back
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
func (e *Engine) running(ctx context.Context, id string) bool {
	h := e.handle(id)
	if h == nil {
		return false
	}
	a := h.current()
	if a == nil {
		return false
	}
	ps, err := a.instance.Processes(ctx)
	return err != nil || beyondInit(ps)
}

// lastUsed is when something last happened to a box.
func (e *Engine) lastUsed(ctx context.Context, b forkbox.Box) (last time.Time, err error) {
	last = b.Created
	later := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	execs, err := e.ledger.Execs(ctx, b.ID)
	if err != nil {
		return last, err
	}
	for _, x := range execs {
		later(x.Started)
		if x.Ended != nil {
			later(*x.Ended)
		}
	}
	snapshots, err := e.ledger.Snapshots(ctx, b.ID)
	for _, s := range snapshots {
		later(s.Created)
	}
	if err != nil {
		return last, err
	}
	receipts, err := e.ledger.ReceiptsOf(ctx, b.ID)
	for _, r := range receipts {
		later(r.Created)
		later(r.Undone)
	}
	if r, ok := e.lostTo(ctx, b); ok {
		later(r.Created)
	}
	return last, err
}

// outcomes remembers what became of boxes that nobody has used since: reading
// all changes of all boxes each hour would be too much.
type outcomes struct {
	mu    sync.Mutex
	known map[string]knownOutcome
}

type knownOutcome struct {
	used    time.Time
	outcome retention.Outcome
}

func (e *Engine) outcome(ctx context.Context, b forkbox.Box, used time.Time) (retention.Outcome, error) {
	e.outcomes.mu.Lock()
	known, ok := e.outcomes.known[b.ID]
	e.outcomes.mu.Unlock()
	if ok && known.used.Equal(used) && known.outcome == retention.Unreviewed && !b.Discarded && b.Stale == nil {
		return known.outcome, nil
	}
	o, err := e.findOutcome(ctx, b)
	if err != nil {
		return "", err
	}
	e.outcomes.mu.Lock()
	defer e.outcomes.mu.Unlock()
	if e.outcomes.known == nil || len(e.outcomes.known) > 10_000 {
		e.outcomes.known = map[string]knownOutcome{}
	}
	e.outcomes.known[b.ID] = knownOutcome{used, o}
	return o, nil
}

// findOutcome looks at what a box has changed and nobody has decided about.
func (e *Engine) findOutcome(ctx context.Context, b forkbox.Box) (retention.Outcome, error) {
	changed, err := e.hasChanges(ctx, b)
	if err != nil {
		e.log.Debug("cannot tell what became of a box", "box", b.ID, "error", err)
		return "", nil // then it stays
	}
	receipts, err := e.ledger.ReceiptsOf(ctx, b.ID)
	if err != nil {
		return "", err
	}
	landed := slices.ContainsFunc(receipts, func(r forkbox.Receipt) bool { return r.State == forkbox.Applied })
	switch {
	case e.isLost(ctx, b):
		return retention.Lost, nil
	case changed:
		return retention.Unreviewed, nil
	case landed:
		return retention.Applied, nil
	case b.Discarded:
		return retention.Discarded, nil
	}
	execs, err := e.ledger.Execs(ctx, b.ID)
	if n := len(execs); n > 0 && execs[n-1].Exit != nil && execs[n-1].Exit.Code != 0 {
		return retention.Failed, err
	}
	return retention.Untouched, err
}

var errFound = errors.New("found")

// hasChanges says whether a box has changed anything but caches and the like.
func (e *Engine) hasChanges(ctx context.Context, b forkbox.Box) (bool, error) {
	view, err := e.view(ctx, b)
	if err != nil {
		return false, err
	}
	chosen := review.Choose(forkbox.Selection{All: true}, nil, newSorter(view.Root, b))
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
func (e *Engine) Tidy() {
	e.work.Go(func() {
		wait := gcAfter
		for {
			select {
			case <-e.ctx.Done():
				return
			case <-time.After(wait):
			}
			wait = gcEvery
			e.tidy()
		}
	})
}

func (e *Engine) tidy() {
	if e.retentionErr != nil {
		return // said at the start
	}
	gc, err := e.collect(e.ctx, nil, forkbox.GCSpec{})
	if err != nil {
		e.log.Warn("cannot collect garbage", "error", err)
	}
	for _, c := range gc.Removed {
		e.log.Info("removed a box", "box", c.ID, "name", c.Name, "why", c.Why, "error", c.Error)
	}
}
