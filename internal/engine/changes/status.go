package changes

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/git"
	"github.com/forkbox/forkbox/internal/review"
)

// maxDrift is how many drifted paths a status lists.
const maxDrift = 10000

// Status says how far reality has moved on from a box's base.
func (m *Manager) Status(ctx context.Context, who forkbox.Owner, ref string) (forkbox.BoxStatus, error) {
	const op = "look at the box"
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return forkbox.BoxStatus{}, err
	}
	defer end()
	box, err := m.core.Resolve(ctx, who, ref)
	if err == nil {
		err = core.Usable(op, box)
	}
	if err != nil {
		return forkbox.BoxStatus{}, err
	}
	view, err := m.View(ctx, box)
	if err != nil {
		return forkbox.BoxStatus{}, err
	}
	box.Env = nil
	s := &standing{view: view, found: map[string]forkbox.Drift{},
		BoxStatus: forkbox.BoxStatus{Box: box, Fence: box.Base.Fence, Root: view.Root}}
	switch {
	case !box.Base.IsReality():
		err = s.own(ctx)
	case box.Base.Fence.Equal(forkbox.NeverFenced):
		s.Fence = time.Time{}
		// Its changes were made elsewhere: reality is compared with what they were
		// made on, where the archive says that, and all else in it is no news.
		err = s.both(ctx, m.newPinner(view))
	default:
		if err = s.both(ctx, m.newPinner(view)); err == nil {
			err = s.behind(ctx)
		}
	}
	return s.result(), forkbox.Wrap(op, err)
}

// standing is a status while it is being found out.
type standing struct {
	forkbox.BoxStatus
	view  *review.View
	found map[string]forkbox.Drift
}

// own counts what a box changed that has a root of its own: no reality moves on
// below it.
func (s *standing) own(ctx context.Context) error {
	chosen := review.Choose(forkbox.Selection{All: true}, nil, bases.NewSorter(s.view.Root, s.view.Box))
	err := s.view.Each(ctx, chosen, func(*review.Entry) error { return nil })
	s.Changes = s.view.Summary.Count
	return err
}

// both finds the paths that reality and the box have changed, and what an
// apply would make of each.
func (s *standing) both(ctx context.Context, pins *pinner) error {
	sel := forkbox.Selection{All: true}
	chosen := review.Choose(sel, nil, bases.NewSorter(s.view.Root, s.view.Box))
	plan := &review.Plan{View: s.view, Chosen: chosen, Spec: forkbox.ApplySpec{Selection: sel}}
	err := s.view.Each(ctx, chosen, func(x *review.Entry) error {
		pins.see(x)
		refused, named := plan.Refused, len(plan.Conflicts)
		step, err := plan.Next(ctx, x)
		if err != nil {
			return err
		}
		d := forkbox.Drift{Path: x.Path, Both: true, Outcome: "clean"}
		switch {
		case len(plan.Conflicts) > named:
			d.Outcome, d.Why = "conflict", plan.Conflicts[named].Why
		case plan.Refused > refused:
			d.Outcome = "conflict"
		case !x.Drifted:
			return nil
		case len(step.Items) == 0:
			d.Outcome = "same"
		}
		s.add(d)
		return nil
	})
	s.Changes = s.view.Summary.Count
	return err
}

// behind finds what else reality has changed in the workspace: what is there,
// by its time; what is gone, from git.
func (s *standing) behind(ctx context.Context) error {
	if s.view.Root == "" {
		return nil
	}
	err := s.view.Moved(ctx, func(path string) error {
		if _, ok := s.found[path]; !ok {
			s.add(forkbox.Drift{Path: path})
		}
		return nil
	})
	if err != nil {
		return err
	}
	head := s.view.Head()
	if head == "" {
		return nil
	}
	repo := git.Repo{Root: s.view.Root, Owner: s.view.Box.Owner}
	gone, err := repo.Since(ctx, head)
	if err != nil {
		return nil // git has nothing to say
	}
	for _, rel := range gone {
		path := s.view.Root + "/" + rel
		mark, _ := s.view.Marks.Get(path)
		if _, ok := s.found[path]; !ok && !bases.Exists(path) && mark == (review.Mark{}) {
			s.add(forkbox.Drift{Path: path})
		}
	}
	return nil
}

func (s *standing) add(d forkbox.Drift) {
	if len(s.found) >= maxDrift {
		s.Partial = true
		return
	}
	s.found[d.Path] = d
}

func (s *standing) result() forkbox.BoxStatus {
	s.Drift = []forkbox.Drift{}
	for _, d := range s.found {
		s.Drift = append(s.Drift, d)
		if d.Both {
			s.Both++
		}
	}
	s.Behind = len(s.Drift)
	slices.SortFunc(s.Drift, func(a, b forkbox.Drift) int { return strings.Compare(a.Path, b.Path) })
	return s.BoxStatus
}
