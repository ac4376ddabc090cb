package core

import (
	"context"
	"errors"
	"strings"

	"github.com/forkbox/forkbox"
)

// Box finds one of who's boxes by its name, its id, or the beginning of either
// where that fits one box only.
func (c *Core) Box(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error) {
	ctx, end, err := c.Begin(ctx, "find box")
	if err != nil {
		return forkbox.Box{}, err
	}
	defer end()
	return c.Resolve(ctx, who, ref)
}

// Boxes lists who's boxes, oldest first.
func (c *Core) Boxes(ctx context.Context, who forkbox.Owner) ([]forkbox.Box, error) {
	ctx, end, err := c.Begin(ctx, "list boxes")
	if err != nil {
		return nil, err
	}
	defer end()
	boxes, err := c.Ledger.Boxes(ctx, &who.UID)
	if err != nil {
		return nil, err
	}
	last, err := c.Ledger.LastExecs(ctx, who.UID)
	for i, b := range boxes {
		if x, has := last[b.ID]; has {
			boxes[i].Last = &x
		}
	}
	return boxes, err
}

// AllBoxes lists the boxes of all users, for root.
func (c *Core) AllBoxes(ctx context.Context, who forkbox.Owner) ([]forkbox.Box, error) {
	ctx, end, err := c.Begin(ctx, "list boxes")
	if err != nil {
		return nil, err
	}
	defer end()
	if who.UID != 0 {
		return nil, forkbox.Errorf(forkbox.Denied, "list everybody's boxes", "only root may").
			Hint("forkbox ls shows your own")
	}
	return c.Ledger.Boxes(ctx, nil)
}

// Resolve looks among who's boxes only: what a user cannot see must look as if
// it did not exist, so it is not even searched.
func (c *Core) Resolve(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error) {
	const op = "find box"
	if ref == "" {
		return forkbox.Box{}, forkbox.Errorf(forkbox.Invalid, op, "no name was given").
			Hint("forkbox ls shows your boxes")
	}
	// A whole id, as programs give it, is one look-up: no name looks like it.
	if likeAnID(ref) {
		if box, err := c.Ledger.Box(ctx, ref); err == nil && box.Owner.UID == who.UID {
			return box, nil
		}
	}
	found, err := c.Ledger.FindBoxes(ctx, who.UID, ref)
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

// Usable is a Busy error for a box that is not there yet, or hardly any more.
func Usable(op string, box forkbox.Box) error {
	switch box.State {
	case forkbox.Creating:
		return forkbox.Errorf(forkbox.Busy, op, "%s was never completely created", box.Name).
			Hint("remove it: forkbox rm %s", box.Name)
	case forkbox.Removing:
		return forkbox.Errorf(forkbox.Busy, op, "%s is being removed", box.Name).
			Hint("if that failed, try again: forkbox rm -f %s", box.Name)
	}
	return nil
}

// BeyondInit says whether there is a process beside a box's init.
func BeyondInit(ps []forkbox.Process) bool {
	for _, p := range ps {
		if p.PID != 1 {
			return true
		}
	}
	return false
}

// Note tells the owner what went wrong with a box. It returns cause.
func (c *Core) Note(ctx context.Context, box *forkbox.Box, what string, cause error, tell ...forkbox.Event) error {
	box.Note = what + ": " + cause.Error()
	if err := c.Ledger.UpdateBox(ctx, *box, tell...); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}
