package forks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
	"github.com/forkbox/forkbox/internal/engine/network"
	"github.com/forkbox/forkbox/internal/engine/shelf"
	"github.com/forkbox/forkbox/internal/engine/snapshots"
	"github.com/forkbox/forkbox/internal/review/ancestor"
)

// maxChildren is how many boxes one fork makes at most: a slip of the finger
// should not fill the ledger.
const maxChildren = 1000

// Fork makes boxes that begin as a snapshot, or as a box is now. Each child
// succeeds or fails by itself.
func (m *Manager) Fork(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.ForkSpec) (f forkbox.Fork, err error) {
	return m.ForkWith(ctx, who, ref, spec, forkbox.Wish{}, forkbox.NetWish{})
}

// ForkWith is Fork with limits and a network that are not the parent's.
func (m *Manager) ForkWith(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.ForkSpec, wish forkbox.Wish, net forkbox.NetWish) (f forkbox.Fork, err error) {
	const op = "fork"
	if err := checkFork(spec, net); err != nil {
		return f, err
	}
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return f, err
	}
	defer end()
	children, release, err := m.placesFor(ctx, who, ref, spec, wish, net)
	if err != nil {
		return f, err
	}
	defer release()
	name, snapshot, at := forkbox.SplitRef(ref)
	_, err = m.core.Change(ctx, op, who, name, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if f.Snapshot, err = m.snapshots.SnapshotFor(ctx, h, box, snapshot, at, "fork"); err != nil {
			return err
		}
		// With the parent's turn: no caller removes the snapshot meanwhile.
		for _, c := range children {
			f.Children = append(f.Children, m.child(ctx, who, *box, f.Snapshot, c))
		}
		return nil
	})
	return f, err
}

// placesFor waits for a place for each child, all of them no longer than one
// would. A child without one fails by itself; where none has one, nothing is
// forked.
func (m *Manager) placesFor(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.ForkSpec, wish forkbox.Wish, net forkbox.NetWish) (children []CreateSpec, release func(), err error) {
	name, _, _ := forkbox.SplitRef(ref)
	parent, err := m.core.Resolve(ctx, who, name)
	if err != nil {
		return nil, nil, err
	}
	network, err := m.network.NetTerms(who, string(spec.Net), net, network.OriginOf(parent.Net, parent.Network))
	if err != nil {
		return nil, nil, err
	}
	wish = limits.WishOver(parent.Asked, wish)
	t, err := m.limits.TermsFor(who, wish, network.Net)
	if err != nil {
		return nil, nil, err
	}
	deadline := m.limits.Deadline(wish)
	ask := wish // of the first; the others wait for what is left of that
	var passes []*limits.Pass
	for i := range max(spec.Count, 1) {
		c := childSpec(spec, i)
		c.terms, c.net = &t, network
		var p *limits.Pass
		if p, c.refused = m.limits.NewPlace(ctx, who, t, ask); c.refused == nil {
			passes = append(passes, p)
		} else {
			deadline = time.Now()
		}
		ask = limits.Until(wish, deadline)
		children = append(children, c)
	}
	if len(passes) == 0 {
		return nil, nil, children[0].refused
	}
	return children, func() {
		for _, p := range passes {
			p.Done()
		}
	}, nil
}

func checkFork(spec forkbox.ForkSpec, net forkbox.NetWish) error {
	const op = "fork"
	if spec.Count < 0 || spec.Count > maxChildren {
		return forkbox.Errorf(forkbox.Invalid, op, "%d is not a number of children", spec.Count).
			Hint("it is between 1 and %d", maxChildren)
	}
	return CreateSpec{Name: childSpec(spec, max(0, spec.Count-1)).Name, Net: string(spec.Net), NetWish: net}.check()
}

// childSpec is what one of several children is to be.
func childSpec(spec forkbox.ForkSpec, i int) CreateSpec {
	c := CreateSpec{Name: spec.Name}
	if spec.Count > 1 && spec.Name != "" {
		c.Name = fmt.Sprintf("%s-%d", spec.Name, i+1)
	}
	return c
}

// child makes one box of a snapshot. The caller has the parent's turn.
func (m *Manager) child(ctx context.Context, who forkbox.Owner, parent forkbox.Box, s forkbox.Snapshot, spec CreateSpec) forkbox.Child {
	if spec.refused != nil {
		return forkbox.Child{Name: spec.Name, Error: core.AsError(spec.refused)}
	}
	box, err := m.childBox(ctx, who, parent, s, spec)
	if err != nil {
		return forkbox.Child{Name: spec.Name, Error: core.AsError(err)}
	}
	return forkbox.Child{Name: box.Name, Box: &box}
}

func (m *Manager) childBox(ctx context.Context, who forkbox.Owner, parent forkbox.Box, s forkbox.Snapshot, spec CreateSpec) (forkbox.Box, error) {
	spec.Dir = core.OrElse(spec.Dir, parent.Dir)
	spec.AllowSecrets = slices.Concat(parent.AllowSecrets, spec.AllowSecrets)
	spec.Places = slices.Concat(parent.Places, spec.Places)
	box, err := m.newBox(who, spec)
	if err != nil {
		return box, err
	}
	if spec.Env == nil {
		box.Env = parent.Env
	}
	// The fence is the parent's: what reality was when that was forked is what
	// the changes of both are to be compared with.
	box.Base, box.Layers, box.Unresolved = s.Base, slices.Clone(s.Layers), s.Unresolved
	box.Services = slices.Clone(parent.Services)
	box.Parent, box.ParentBox, box.At = s.ID, parent.ID, s.ID
	box.Lineage = snapshots.Lineage(parent, s)
	// Before it is first used it is adapted to what its parent landed since.
	asMade := box
	asMade.Bare = true
	if box.Rebase, err = m.shelf.LandedSince(ctx, asMade, parent.ID); err != nil {
		return box, err
	}
	return m.add(ctx, box, origin{parent.Name + "@" + s.Name, &parent, s.ID}, func(box forkbox.Box) { m.Inherit(parent.ID, box) })
}

// Inherit has a child know what its parent knows of reality as it was. What it
// does not know in time is a conflict where a merge needs it, no more.
func (m *Manager) Inherit(parent string, child forkbox.Box) {
	if m.bases.Dir == nil {
		return
	}
	m.core.Work.Go(func() {
		if err := ancestor.HandDown(m.bases.Dir(parent), m.bases.Dir(child.ID)); err != nil {
			m.core.Log.Debug("cannot hand down what reality was", "box", child.ID, "error", err)
		}
		if book := m.bases.Book(child, ""); !book.Looked() {
			m.bases.Look(child) // the parent's own may not be there yet
		}
	})
}

// Family is everything that who has forked.
func (m *Manager) Family(ctx context.Context, who forkbox.Owner) (f forkbox.Family, err error) {
	ctx, end, err := m.core.Begin(ctx, "draw the tree")
	if err != nil {
		return f, err
	}
	defer end()
	if f.Boxes, err = m.core.Ledger.Boxes(ctx, &who.UID); err != nil {
		return f, err
	}
	if f.Snapshots, err = m.core.Ledger.SnapshotsOf(ctx, &who.UID); err != nil {
		return f, err
	}
	f.Templates, err = m.core.Ledger.Templates(ctx, &who.UID)
	return f, err
}

// fromTemplate makes a box that begins as a template. With a template that is
// kept warm it takes over one that is ready.
func (m *Manager) fromTemplate(ctx context.Context, who forkbox.Owner, spec CreateSpec) (forkbox.Box, error) {
	unlock, err := m.shelf.LockTemplates(ctx)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer unlock() // until the box is in the ledger nothing else holds its layers
	t, err := m.core.Ledger.Template(ctx, who.UID, spec.Template)
	if err != nil {
		return forkbox.Box{}, err
	}
	spec.Dir = core.OrElse(spec.Dir, t.Dir)
	spec.AllowSecrets = slices.Concat(t.AllowSecrets, spec.AllowSecrets)
	spec.Places = slices.Concat(t.Places, spec.Places)
	box, err := m.newBox(who, spec)
	if err != nil {
		return box, err
	}
	begin := shelf.BoxOf(t)
	box.Base, box.Layers, box.Services, box.Parent = begin.Base, begin.Layers, begin.Services, t.ID
	box.Unresolved, box.Lineage = t.Unresolved, t.Lineage
	if spec.Env == nil || !t.Base.IsReality() {
		box.Env = t.Env
	}
	if !t.Base.IsReality() {
		box.Dir = t.Dir
	}
	return m.add(ctx, box, origin{what: "template " + t.Name}, func(box forkbox.Box) {
		if n := len(t.Lineage); n > 0 {
			m.Inherit(t.Lineage[n-1].Box, box)
		}
	})
}
