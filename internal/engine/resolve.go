package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// Box finds one of who's boxes by its name, its id, or the beginning of either
// where that fits one box only.
func (e *Engine) Box(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error) {
	ctx, end, err := e.begin(ctx, "find box")
	if err != nil {
		return forkbox.Box{}, err
	}
	defer end()
	return e.resolve(ctx, who, ref)
}

// Boxes lists who's boxes, oldest first.
func (e *Engine) Boxes(ctx context.Context, who forkbox.Owner) ([]forkbox.Box, error) {
	ctx, end, err := e.begin(ctx, "list boxes")
	if err != nil {
		return nil, err
	}
	defer end()
	boxes, err := e.ledger.Boxes(ctx, &who.UID)
	if err != nil {
		return nil, err
	}
	last, err := e.ledger.LastExecs(ctx, who.UID)
	for i, b := range boxes {
		if x, has := last[b.ID]; has {
			boxes[i].Last = &x
		}
	}
	return boxes, err
}

// AllBoxes lists everybody's, for root.
func (e *Engine) AllBoxes(ctx context.Context, who forkbox.Owner) ([]forkbox.Box, error) {
	ctx, end, err := e.begin(ctx, "list boxes")
	if err != nil {
		return nil, err
	}
	defer end()
	if who.UID != 0 {
		return nil, forkbox.Errorf(forkbox.Denied, "list everybody's boxes", "only root may").
			Hint("forkbox ls shows your own")
	}
	return e.ledger.Boxes(ctx, nil)
}

// resolve looks among who's boxes only: what a user cannot see must look as if
// it did not exist, so it is not even searched.
func (e *Engine) resolve(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error) {
	const op = "find box"
	if ref == "" {
		return forkbox.Box{}, forkbox.Errorf(forkbox.Invalid, op, "no name was given").
			Hint("forkbox ls shows your boxes")
	}
	// A whole id, as programs give it, is one look-up: no name looks like it.
	if likeAnID(ref) {
		if box, err := e.ledger.Box(ctx, ref); err == nil && box.Owner.UID == who.UID {
			return box, nil
		}
	}
	found, err := e.ledger.FindBoxes(ctx, who.UID, ref)
	switch {
	case err != nil:
		return forkbox.Box{}, err
	case len(found) == 0:
		return forkbox.Box{}, forkbox.Errorf(forkbox.NotFound, op, "you have no box %q", ref).
			Hint("forkbox ls shows your boxes")
	case len(found) == 1, found[0].ID == ref, found[0].Name == ref: // exact matches come first
		return found[0], nil
	}
	return forkbox.Box{}, forkbox.Errorf(forkbox.Ambiguous, op, "%q could be %s", ref, candidates(found)).
		Hint("give more of the name, or the id")
}

// candidates names the boxes a prefix fits, with their ids when it is the ids
// that it fits.
func candidates(boxes []forkbox.Box) string {
	const most = 5
	var names []string
	for i, b := range boxes {
		if i == most {
			names = append(names, "others")
			break
		}
		names = append(names, b.Name+" ("+b.ID+")")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// resolveAt finds BOX, or BOX@SNAPSHOT as if it were a box.
func (e *Engine) resolveAt(ctx context.Context, op string, who forkbox.Owner, ref string) (forkbox.Box, error) {
	name, snapshot, at := forkbox.SplitRef(ref)
	box, err := e.resolve(ctx, who, name)
	if err == nil {
		err = usable(op, box)
	}
	if err == nil && (box.Saving+box.Rebase != "" || box.Syncing != nil) {
		box, err = e.settled(ctx, op, box)
	}
	if err != nil || !at {
		return box, err
	}
	s, err := e.findSnapshot(ctx, box, snapshot)
	if err != nil {
		return box, err
	}
	box.Bare, box.Layers, box.Base, box.At = true, s.Layers, s.Base, s.ID
	box.Name += "@" + s.Name
	return box, nil
}

// settled waits until what is being done to a box's layers, or by a sync to its
// files, is done.
func (e *Engine) settled(ctx context.Context, op string, box forkbox.Box) (forkbox.Box, error) {
	box, h, unlock, err := e.takeID(ctx, box.ID)
	if err != nil {
		return box, err
	}
	defer unlock()
	if err = e.settleSync(ctx, h, &box); err == nil && box.Rebase != "" {
		err = forkbox.Errorf(forkbox.Busy, op, "%s has not been adapted to what landed: %s", box.Name, box.Note).
			Hint("run something in it to try again: forkbox exec %s -- true", box.Name)
	}
	return box, err
}

// holdAt is resolveAt, and keeps the layers of a snapshot until release is
// called, also when somebody removes it meanwhile.
func (e *Engine) holdAt(ctx context.Context, op string, who forkbox.Owner, ref string) (forkbox.Box, func(), error) {
	box, err := e.resolveAt(ctx, op, who, ref)
	if err != nil || !box.Bare {
		return box, func() {}, err
	}
	release := e.creating(append(slices.Clone(box.Layers), box.Base.Root)...)
	// From here on they stay; were they still there?
	if _, err := e.findSnapshot(ctx, box, box.At); err != nil {
		release()
		return box, nil, err
	}
	return box, func() { release(); e.sweepSoon() }, nil
}

// onReality refuses what makes sense only for a fork of this machine.
func onReality(op string, box forkbox.Box) error {
	if box.Base.IsReality() {
		return usable(op, box)
	}
	return forkbox.Errorf(forkbox.Unsupported, op, "%s was made of %s and not of this machine, so its changes have no place here", box.Name, orElse(box.Base.Name, box.Base.Kind)).
		Hint("forkbox export %s takes it elsewhere", box.Name)
}
