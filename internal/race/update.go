package race

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/rank"
)

// update brings the box up to date, where reality has changed since it was
// forked, and has the checks that must pass say that it is still good. If it is
// not, the box is as it was before.
func (l *landing) update(ctx context.Context) error {
	status, err := l.boxes.Status(ctx, l.who, l.bench.box.ID)
	if err != nil || !l.drifted(status) {
		return err
	}
	before, err := l.snapshot(ctx)
	if err != nil {
		return err
	}
	defer l.forget(ctx, before)
	err = l.sync(ctx)
	if err == nil {
		err = l.recheck(ctx)
	}
	if err == nil {
		return nil
	}
	_, back := l.boxes.Rollback(context.WithoutCancel(ctx), l.who, l.bench.box.ID, forkbox.RollbackSpec{To: before.ID, Force: true})
	return errors.Join(err, back)
}

// drifted says whether reality changed anything that matters to what lands.
func (l *landing) drifted(s forkbox.BoxStatus) bool {
	return s.Partial || slices.ContainsFunc(s.Drift, func(d forkbox.Drift) bool {
		return s.Root != "" && forkbox.Within(d.Path, s.Root) || d.Both && (l.spec.All || l.spec.Names(d.Path))
	})
}

func (l *landing) snapshot(ctx context.Context) (forkbox.Snapshot, error) {
	return l.boxes.Snapshot(ctx, l.who, l.bench.box.ID, forkbox.SnapshotSpec{Message: "before race " + l.rec.Name + " lands"})
}

func (l *landing) forget(ctx context.Context, s forkbox.Snapshot) {
	err := l.boxes.RemoveSnapshot(context.WithoutCancel(ctx), l.who, l.bench.box.ID+"@"+s.ID, false)
	if err != nil {
		l.log.Warn("cannot remove a snapshot", "box", l.bench.box.ID, "snapshot", s.ID, "error", err)
	}
}

func (l *landing) sync(ctx context.Context) error {
	synced, err := l.boxes.Sync(ctx, l.who, l.bench.box.ID)
	if err != nil {
		return err
	}
	l.result.Synced = &synced
	if len(synced.Conflicts) == 0 {
		return nil
	}
	bad := forkbox.Errorf(forkbox.Conflict, "apply race", "reality has changed since the race began, and %d of the changes conflict with %s", len(synced.Conflicts), l.result.Approach).
		Hint("settle them in its box, and land that: forkbox sync %s, then forkbox apply %s", l.bench.box.Name, l.bench.box.Name).
		Hint("or run the race again: forkbox race rerun %s", l.rec.Name)
	bad.Items = synced.Conflicts
	return bad
}

// recheck runs the checks that must pass again. What they write is thrown away.
func (l *landing) recheck(ctx context.Context) error {
	if !slices.ContainsFunc(l.rec.Spec.Checks, func(c forkbox.RaceCheck) bool { return c.Must }) {
		return nil
	}
	synced, err := l.snapshot(ctx)
	if err != nil {
		return err
	}
	defer l.forget(ctx, synced)
	failed := l.checkAgain(ctx)
	l.bench.halt()
	back, err := l.boxes.Rollback(context.WithoutCancel(ctx), l.who, l.bench.box.ID, forkbox.RollbackSpec{To: synced.ID, Force: true})
	if err == nil {
		l.forget(ctx, back.Kept)
	}
	return errors.Join(failed, err)
}

func (l *landing) checkAgain(ctx context.Context) error {
	for n, spec := range l.rec.Spec.Checks {
		if !spec.Must {
			continue
		}
		checked := newChecked(spec)
		for run := 1; run <= checkRuns && (run == 1 || !checked.Passed && !spec.Once || checked.Flaky); run++ {
			x, err := l.bench.do(ctx, l.bench.label("check", n, run), spec.Command, 0)
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
