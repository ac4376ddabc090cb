package engine

import (
	"context"
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
	return e.ledger.Boxes(ctx, &who.UID)
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
