package race

import (
	"context"
	"errors"
	"fmt"

	"github.com/forkbox/forkbox"
)

// Apply lands an approach of a race, the winner if none is named. Where reality
// has changed since, the approach is brought up to date and checked again
// first. A race lands once; after an undo it can again.
func (r *Races) Apply(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.RaceApply) (forkbox.RaceLanding, error) {
	const op = "apply race"
	end, err := r.begin(op)
	if err != nil {
		return forkbox.RaceLanding{}, err
	}
	defer end()
	rec, err := r.find(ctx, who, ref)
	if err != nil {
		return forkbox.RaceLanding{}, err
	}
	done, err := r.turn(ctx, rec.ID)
	if err != nil {
		return forkbox.RaceLanding{}, err
	}
	defer done()
	l, err := r.newLanding(ctx, who, rec.ID, spec)
	if err != nil {
		return forkbox.RaceLanding{}, err
	}
	err = l.run(ctx)
	return l.result, err
}

// landing is one apply of a race.
type landing struct {
	*Races
	rec    forkbox.Race
	who    forkbox.Owner
	spec   forkbox.RaceApply
	bench  *bench
	result forkbox.RaceLanding
}

func (r *Races) newLanding(ctx context.Context, who forkbox.Owner, id string, spec forkbox.RaceApply) (*landing, error) {
	const op = "apply race"
	rec, err := r.find(ctx, who, id) // as it is now that it is our turn
	if err != nil {
		return nil, err
	}
	if rec.State == forkbox.RaceRunning {
		return nil, forkbox.Errorf(forkbox.Busy, op, "%s still runs", rec.Name).
			Hint("wait for its end: forkbox race watch %s", rec.Name)
	}
	l := &landing{Races: r, rec: rec, who: who, spec: spec}
	if err := l.landedBefore(ctx); err != nil {
		return nil, err
	}
	entry, err := l.choose()
	if err != nil {
		return nil, err
	}
	over := rec
	over.Spec.Deadline = 0 // nobody waits for that any more
	run := r.newRace(over)
	run.letGo() // it does not run: only its box is used
	i := run.indexOf(entry.Name)
	box, err := r.boxes.Box(ctx, who, entry.Box)
	if err != nil || i < 0 {
		return nil, forkbox.Errorf(forkbox.NotFound, op, "the box of %s is gone", entry.Name).
			Hint("run the race again: forkbox race rerun %s", rec.Name)
	}
	l.bench, l.result.Approach = run.newBench(i, 0, box), entry.Name
	return l, nil
}

// landedBefore refuses a race of which something has landed, whatever its record
// says: the daemon may have died before that was written.
func (l *landing) landedBefore(ctx context.Context) error {
	for _, e := range l.rec.Entries {
		if e.Box == "" {
			continue
		}
		receipts, err := l.ledger.ReceiptsOf(ctx, e.Box)
		if err != nil {
			return err
		}
		for _, receipt := range receipts {
			if !receipt.Undone.IsZero() {
				continue
			}
			if err := l.landed(ctx, e.Name, receipt.ID); err != nil {
				return err
			}
			return forkbox.Errorf(forkbox.Exists, "apply race", "%s has landed already: receipt %s", e.Name, receipt.ID).
				Hint("undo it first: forkbox undo %s", receipt.ID)
		}
	}
	return nil
}

// choose finds the approach that is meant. One that has not passed is landed
// only by somebody who says yes to that.
func (l *landing) choose() (forkbox.Entry, error) {
	const op = "apply race"
	name := orElse(l.spec.Approach, l.rec.Winner)
	if name == "" {
		return forkbox.Entry{}, forkbox.Errorf(forkbox.Invalid, op, "nobody won %s", l.rec.Name).
			Hint("see why: forkbox race show %s", l.rec.Name).
			Hint("name the approach that is to land all the same: forkbox race apply %s APPROACH", l.rec.Name)
	}
	for _, e := range l.rec.Entries {
		switch {
		case e.Name != name:
			continue
		case e.Box == "":
			return e, forkbox.Errorf(forkbox.NotFound, op, "%s never had a box: %s", name, e.Why)
		case e.Outcome != forkbox.OutcomePassed && !l.spec.Yes && !l.spec.DryRun:
			return e, forkbox.Errorf(forkbox.Unconfirmed, op, "%s has not passed: %s (%s)", name, e.Outcome, orElse(e.Why, "it was not judged")).
				Hint("to land it all the same: --yes")
		}
		return e, nil
	}
	return forkbox.Entry{}, forkbox.Errorf(forkbox.NotFound, op, "%s has no approach %q", l.rec.Name, name).
		Hint("forkbox race show %s lists them", l.rec.Name)
}

// run brings the box up to date where it has to be, and lands it.
func (l *landing) run(ctx context.Context) error {
	if !l.spec.DryRun {
		if err := l.update(ctx); err != nil {
			return err
		}
	}
	spec := l.spec.ApplySpec
	if spec.Message == "" {
		spec.Message = fmt.Sprintf("%s of race %s", l.result.Approach, l.rec.Name)
	}
	receipt, err := l.boxes.Apply(ctx, l.who, l.bench.box.ID, spec)
	l.result.Receipt = receipt
	if receipt.ID == "" {
		return err
	}
	return errors.Join(err, l.landed(context.WithoutCancel(ctx), l.result.Approach, receipt.ID))
}

// landed records that an approach did. The boxes of the others are stale then.
func (l *landing) landed(ctx context.Context, approach, receipt string) error {
	if l.rec.Landed != approach || l.rec.Receipt != receipt {
		l.rec.Landed, l.rec.Receipt = approach, receipt
		if err := l.ledger.UpdateRace(ctx, l.rec); err != nil {
			return err
		}
	}
	var others []string
	for _, e := range l.rec.Entries {
		if e.Name != approach && e.Box != "" {
			others = append(others, e.Box)
		}
	}
	if err := l.boxes.Supersede(ctx, l.who, others, receipt); err != nil {
		l.log.Warn("cannot mark the others of a race stale", "race", l.rec.ID, "error", err)
	}
	return nil
}
