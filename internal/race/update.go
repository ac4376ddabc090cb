package race

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/rank"
)

// hasDrifted says whether reality changed anything that matters to what lands.
func (l *landing) hasDrifted(ctx context.Context) (bool, error) {
	s, err := l.boxes.Status(ctx, l.who, l.lane.box.ID)
	if err != nil {
		return false, err
	}
	matters := slices.DeleteFunc(slices.Clone(s.Drift), func(d forkbox.Drift) bool {
		return (s.Root == "" || !forkbox.Within(d.Path, s.Root)) && !(d.Both && (l.spec.All || l.spec.Names(d.Path)))
	})
	conflict := slices.ContainsFunc(matters, func(d forkbox.Drift) bool { return d.Outcome == "conflict" })
	if conflict && l.spec.Conflict != forkbox.Refuse {
		return true, forkbox.Errorf(forkbox.Unsupported, "apply race", "a race lands what its checks have passed, and no choice between two versions is that").
			Hint("say which version lands, without its checks: forkbox apply --conflict=%s %s", l.spec.Conflict, l.lane.box.Name)
	}
	return s.Partial || len(matters) > 0, nil
}

// update brings the box up to date with reality and has the checks that must
// pass say that it is still good: then that is what was judged. If it is not,
// the box is as it was before. The record says that this goes on, so that no
// daemon that comes after a crash takes what it finds for what was judged.
func (l *landing) update(ctx context.Context) error {
	if err := l.recordUpdate(ctx); err != nil {
		return err
	}
	before, since := l.entry().Saved, l.now()
	synced, err := l.syncAndCheck(ctx)
	if err == nil {
		err = l.amend(ctx, &l.rec, l.i, func(e *forkbox.Entry) { e.Saved, e.Unclean = synced.ID, false })
	}
	if err == nil {
		l.forget(ctx, l.who, l.lane.box.ID, before)
		return nil
	}
	l.rec.Entries[l.i].Saved, l.rec.Entries[l.i].Unclean = before, true
	l.lane.halt() // what a check left running
	return errors.Join(err, l.clean(ctx, &l.rec, l.i, since))
}

// recordUpdate writes down that the box is about to become something else than
// what was judged. Of one that nothing judged, what it is now is saved.
func (l *landing) recordUpdate(ctx context.Context) error {
	saved := l.entry().Saved
	if saved == "" {
		l.lane.halt()
		s, err := l.lane.makeSnapshot(ctx, stepsName(l.rec.ID), stepsMessage(l.result.Approach))
		if err != nil {
			return err
		}
		saved = s.ID
	}
	return l.amend(ctx, &l.rec, l.i, func(e *forkbox.Entry) { e.Saved, e.Unclean = saved, true })
}

// syncAndCheck brings the box up to date, checks it, and saves it without what
// checks wrote.
func (l *landing) syncAndCheck(ctx context.Context) (s forkbox.Snapshot, err error) {
	if err := l.sync(ctx); err != nil {
		return s, err
	}
	if s, err = l.lane.makeSnapshot(ctx, syncedName(l.rec.ID), syncedMessage(l.result.Approach)); err != nil {
		return s, err
	}
	if len(l.entry().Protected) > 0 {
		if err := l.lane.putBack(ctx); err != nil {
			return s, err
		}
	}
	l.result.Checked = nil
	if err := l.checkAgain(ctx); err != nil {
		return s, err
	}
	return s, l.rollBackTo(context.WithoutCancel(ctx), l.who, l.lane.box.ID, s.ID, false)
}

func (l *landing) sync(ctx context.Context) error {
	synced, err := l.boxes.Sync(ctx, l.who, l.lane.box.ID)
	if err != nil {
		return err
	}
	l.tellSynced(synced)
	if synced.Count.Conflicts == 0 {
		return nil
	}
	bad := forkbox.Errorf(forkbox.Conflict, "apply race", "reality has changed since the race began, and %d of the changes conflict with %s", synced.Count.Conflicts, l.result.Approach).
		Hint("settle them in its box, and land that: forkbox sync %s, then forkbox apply %s", l.lane.box.Name, l.lane.box.Name).
		Hint("or run the race again: forkbox race rerun %s", l.rec.Name)
	bad.Items = synced.Conflicts
	return bad
}

// tellSynced adds to what was told of reality's changes.
func (l *landing) tellSynced(s forkbox.SyncResult) {
	if was := l.result.Synced; was != nil {
		s.Count.Merged += was.Count.Merged - len(was.Merged) - len(s.Merged)
		s.Count.Taken += was.Count.Taken - len(was.Taken) - len(s.Taken)
		s.Merged = distinct(was.Merged, s.Merged)
		s.Taken = distinct(was.Taken, s.Taken)
		s.Count.Merged += len(s.Merged)
		s.Count.Taken += len(s.Taken)
	}
	l.result.Synced = &s
}

func distinct(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// checkAgain runs the checks that must pass again.
func (l *landing) checkAgain(ctx context.Context) error {
	for n, spec := range l.rec.Spec.Checks {
		if !spec.Must {
			continue
		}
		checked := newChecked(spec)
		for run := 1; run <= checkRuns && (run == 1 || !checked.Passed && !spec.Once || checked.Flaky); run++ {
			x, err := l.lane.do(ctx, l.lane.label("check", n, run), spec.Command, 0)
			if err != nil {
				return err
			}
			checked.Runs = append(checked.Runs, ran(spec.Command, x))
			rank.Settle(&checked)
		}
		l.result.Checked = append(l.result.Checked, checked)
		if !checked.Passed {
			return l.failedAgain(checked)
		}
	}
	return nil
}

func (l *landing) failedAgain(c forkbox.Checked) error {
	exit := c.Runs[len(c.Runs)-1].Exit
	return forkbox.Errorf(forkbox.Conflict, "apply race", "reality has changed since the race began, and now the check %s of %s %s", c.Name, l.result.Approach, howItEnded(*exit)).
		Hint("%s", fmt.Sprintf("run the race again: forkbox race rerun %s", l.rec.Name))
}
