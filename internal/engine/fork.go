package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/ancestor"
)

// maxChildren is how many boxes one fork makes at most: a slip of the finger
// should not fill the ledger.
const maxChildren = 1000

// Fork makes boxes that begin as a snapshot, or as a box is now. Each child
// succeeds or fails by itself.
func (e *Engine) Fork(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.ForkSpec) (f forkbox.Fork, err error) {
	return e.ForkWith(ctx, who, ref, spec, forkbox.Wish{}, forkbox.NetWish{})
}

// ForkWith is Fork with limits and a network that are not the parent's.
func (e *Engine) ForkWith(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.ForkSpec, wish forkbox.Wish, net forkbox.NetWish) (f forkbox.Fork, err error) {
	const op = "fork"
	if err := checkFork(spec, net); err != nil {
		return f, err
	}
	ctx, end, err := e.begin(ctx, op)
	if err != nil {
		return f, err
	}
	defer end()
	children, release, err := e.placesFor(ctx, who, ref, spec, wish, net)
	if err != nil {
		return f, err
	}
	defer release()
	name, snapshot, at := forkbox.SplitRef(ref)
	_, err = e.change(ctx, op, who, name, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		if f.Snapshot, err = e.snapshotFor(ctx, h, box, snapshot, at, "fork"); err != nil {
			return err
		}
		// With the parent's turn: nobody removes the snapshot meanwhile.
		for _, c := range children {
			f.Children = append(f.Children, e.child(ctx, who, *box, f.Snapshot, c))
		}
		return nil
	})
	return f, err
}

// placesFor waits for a place for each child, all of them no longer than one
// would. A child without one fails by itself; where none has one, nothing is
// forked.
func (e *Engine) placesFor(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.ForkSpec, wish forkbox.Wish, net forkbox.NetWish) (children []CreateSpec, release func(), err error) {
	name, _, _ := forkbox.SplitRef(ref)
	parent, err := e.resolve(ctx, who, name)
	if err != nil {
		return nil, nil, err
	}
	network, err := e.netTerms(who, string(spec.Net), net, originOf(parent.Net, parent.Network))
	if err != nil {
		return nil, nil, err
	}
	wish = changed(parent.Asked, wish)
	t, err := e.terms(who, wish, network.net)
	if err != nil {
		return nil, nil, err
	}
	deadline := e.deadline(wish)
	ask := wish // of the first; the others wait for what is left of that
	var passes []*pass
	for i := range max(spec.Count, 1) {
		c := childSpec(spec, i)
		c.terms, c.net = &t, network
		var p *pass
		if p, c.refused = e.newPlace(ctx, who, t, ask); c.refused == nil {
			passes = append(passes, p)
		} else {
			deadline = time.Now()
		}
		ask = until(wish, deadline)
		children = append(children, c)
	}
	if len(passes) == 0 {
		return nil, nil, children[0].refused
	}
	return children, func() {
		for _, p := range passes {
			p.done()
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

// snapshotFor is the one that was named, or one made now, automatically. One
// that says the same as the box, because nothing was written since, is used
// again.
func (e *Engine) snapshotFor(ctx context.Context, h *handle, box *forkbox.Box, name string, at bool, what string) (forkbox.Snapshot, error) {
	if at {
		if err := usable("fork", *box); err != nil {
			return forkbox.Snapshot{}, err
		}
		return e.findSnapshot(ctx, *box, name)
	}
	if s, ok := e.unchangedSince(ctx, h, box); ok {
		return s, nil
	}
	return e.snapshot(ctx, h, box, forkbox.SnapshotSpec{}, what+"-")
}

// unchangedSince is the snapshot that a box at rest still is.
func (e *Engine) unchangedSince(ctx context.Context, h *handle, box *forkbox.Box) (none forkbox.Snapshot, ok bool) {
	p, err := e.layers("fork")
	if err != nil || box.At == "" || e.atRest(ctx, "fork", h, box) != nil {
		return none, false
	}
	if blank, err := p.Blank(ctx, *box); err != nil || !blank {
		return none, false
	}
	s, err := e.findSnapshot(ctx, *box, box.At)
	if err != nil || !slices.Equal(s.Layers, box.Layers) {
		return none, false
	}
	return s, true
}

// child makes one box of a snapshot. The caller has the parent's turn.
func (e *Engine) child(ctx context.Context, who forkbox.Owner, parent forkbox.Box, s forkbox.Snapshot, spec CreateSpec) forkbox.Child {
	if spec.refused != nil {
		return forkbox.Child{Name: spec.Name, Error: asError(spec.refused)}
	}
	box, err := e.childBox(ctx, who, parent, s, spec)
	if err != nil {
		return forkbox.Child{Name: spec.Name, Error: asError(err)}
	}
	return forkbox.Child{Name: box.Name, Box: &box}
}

func (e *Engine) childBox(ctx context.Context, who forkbox.Owner, parent forkbox.Box, s forkbox.Snapshot, spec CreateSpec) (forkbox.Box, error) {
	spec.Dir = orElse(spec.Dir, parent.Dir)
	spec.AllowSecrets = slices.Concat(parent.AllowSecrets, spec.AllowSecrets)
	spec.Places = slices.Concat(parent.Places, spec.Places)
	box, err := e.newBox(who, spec)
	if err != nil {
		return box, err
	}
	if spec.Env == nil {
		box.Env = parent.Env
	}
	// The fence is the parent's: what reality was when that was forked is what
	// the changes of both are to be compared with.
	box.Base, box.Layers, box.Unresolved = s.Base, slices.Clone(s.Layers), s.Unresolved
	box.Parent, box.ParentBox, box.At = s.ID, parent.ID, s.ID
	box.Lineage = lineage(parent, s)
	return e.add(ctx, box, func(box forkbox.Box) { e.inherit(parent.ID, box) })
}

// lineage is the past of what begins as a snapshot.
func lineage(parent forkbox.Box, s forkbox.Snapshot) []forkbox.Ancestor {
	return append(slices.Clone(parent.Lineage), forkbox.Ancestor{Box: parent.ID, Until: s.Created})
}

// inherit has a child know what its parent knows of reality as it was. What it
// does not know in time is a conflict where a merge needs it, no more.
func (e *Engine) inherit(parent string, child forkbox.Box) {
	if e.bases == nil {
		return
	}
	e.work.Go(func() {
		if err := ancestor.HandDown(e.bases(parent), e.bases(child.ID)); err != nil {
			e.log.Debug("cannot hand down what reality was", "box", child.ID, "error", err)
		}
		if book := e.book(child, ""); !book.Looked() {
			e.look(child) // the parent's own may not be there yet
		}
	})
}

// Family is everything that who has forked.
func (e *Engine) Family(ctx context.Context, who forkbox.Owner) (f forkbox.Family, err error) {
	ctx, end, err := e.begin(ctx, "draw the tree")
	if err != nil {
		return f, err
	}
	defer end()
	if f.Boxes, err = e.ledger.Boxes(ctx, &who.UID); err != nil {
		return f, err
	}
	if f.Snapshots, err = e.ledger.SnapshotsOf(ctx, &who.UID); err != nil {
		return f, err
	}
	f.Templates, err = e.ledger.Templates(ctx, &who.UID)
	return f, err
}

// asError is an error that can be told with others.
func asError(err error) *forkbox.Error {
	var e *forkbox.Error
	if errors.As(forkbox.Wrap("fork", err), &e) {
		return e
	}
	return forkbox.Errorf(forkbox.Internal, "fork", "%w", err)
}
