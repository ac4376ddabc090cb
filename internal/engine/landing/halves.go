package landing

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/changes"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/storage/change"
)

// leaveHalves is for an apply in which reality wins. A file that the box moved
// lands as two changes: it goes here, it comes there. Where it cannot come it
// must not go, or reality would be without it. So the changes are gone through
// once before, to see what stays in the box, and which file of reality that was.
func (a *application) leaveHalves(ctx context.Context) error {
	if a.spec.Conflict != forkbox.Ours {
		return nil
	}
	view, err := a.Manager.changes.View(ctx, a.box)
	if err != nil {
		return err
	}
	chosen := review.Choose(a.spec.Selection, a.spec.Hunks, bases.NewSorter(view.Root, a.box))
	plan := &review.Plan{View: view, Spec: a.spec, Chosen: chosen, KeepOwner: a.plan.KeepOwner, Runs: a.plan.Runs}
	left := map[string]bool{}
	renames := change.NewRenames(changes.MaxRenames, func(c forkbox.Change, _ forkbox.Sides) error {
		if c.Kind == forkbox.Renamed && left[c.Path] {
			a.plan.Stay = append(a.plan.Stay, c.From)
		}
		return nil
	})
	defer renames.Close()
	err = view.Each(ctx, chosen, func(x *review.Entry) error {
		before := plan.Left
		if _, err := plan.Next(ctx, x); err != nil {
			return err
		}
		c := x.Change
		if plan.Left > before && c.Kind != forkbox.Deleted && c.Type == "file" {
			left[c.Path] = true
			c.Kind = forkbox.Added // whatever reality has there: the box's may have come from elsewhere
		}
		return renames.Add(c, x.Sides)
	})
	if err == nil && len(left) > 0 {
		a.plan.StayAll = renames.Through()                     // too many to compare
		a.plan.Stay = append(a.plan.Stay, renames.Closed()...) // one of them may be what stays
		err = renames.Flush()
	}
	return err
}
