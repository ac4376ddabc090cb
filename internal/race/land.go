package race

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
	"github.com/forkbox/forkbox/internal/race/risk"
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
	rec, err := r.findNamed(ctx, who, op, ref)
	if err != nil {
		return forkbox.RaceLanding{}, err
	}
	done, err := r.takeTurn(ctx, rec.ID)
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
	lane   *lane
	i      int // the place of what lands in the record's entries
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
	if err := l.refuseLanded(ctx); err != nil {
		return nil, err
	}
	if l.i, err = l.choose(); err != nil {
		return nil, err
	}
	return l, l.prepare(ctx)
}

// prepare finds the box of what lands.
func (l *landing) prepare(ctx context.Context) error {
	over := l.rec
	over.Spec.Deadline = 0 // no client waits for that any more
	over.Entries = slices.Clone(over.Entries)
	run := l.newRace(over)
	run.endContexts() // it does not run: only its box is used
	// Nor does it write: what it knows of its approaches is older than what the
	// landing says, and would take that back.
	run.keeping.ended = true
	entry := l.entry()
	i := run.indexOf(entry.Name)
	box, err := l.boxes.Box(ctx, l.who, entry.Box)
	if err != nil || i < 0 {
		return forkbox.Errorf(forkbox.NotFound, "apply race", "the box of %s is gone", entry.Name).
			Hint("run the race again: forkbox race rerun %s", l.rec.Name)
	}
	l.lane, l.result.Approach = run.newLane(i, 0, box), entry.Name
	return nil
}

// entry is what lands, as it is recorded.
func (l *landing) entry() forkbox.Entry { return l.rec.Entries[l.i] }

// refuseLanded refuses a race of which something has landed, whatever its record
// says: the daemon may have died before that was written.
func (l *landing) refuseLanded(ctx context.Context) error {
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
			if err := l.recordLanded(ctx, e.Name, receipt.ID); err != nil {
				return err
			}
			return forkbox.Errorf(forkbox.Exists, "apply race", "%s has landed already: receipt %s", e.Name, receipt.ID).
				Hint("undo it first: forkbox undo %s", receipt.ID)
		}
	}
	return nil
}

// choose finds the approach that is meant. One that has not passed is landed
// only if the caller says yes to that.
func (l *landing) choose() (int, error) {
	const op = "apply race"
	name := orElse(l.spec.Approach, l.rec.Winner)
	if name == "" {
		return 0, forkbox.Errorf(forkbox.Invalid, op, "nobody won %s", l.rec.Name).
			Hint("see why: forkbox race show %s", l.rec.Name).
			Hint("name the approach that is to land all the same: forkbox race apply %s APPROACH", l.rec.Name)
	}
	i := slices.IndexFunc(l.rec.Entries, func(e forkbox.Entry) bool { return e.Name == name })
	if i < 0 {
		return 0, forkbox.Errorf(forkbox.NotFound, op, "%s has no approach %q", l.rec.Name, name).
			Hint("forkbox race show %s lists them", l.rec.Name)
	}
	e := l.rec.Entries[i]
	good := e.Outcome == forkbox.OutcomePassed || e.Outcome == forkbox.OutcomeFlaky
	switch {
	case e.Box == "":
		return 0, forkbox.Errorf(forkbox.NotFound, op, "%s never had a box: %s", name, e.Why)
	case !good && !l.spec.Unjudged && !l.spec.DryRun:
		why := fmt.Sprintf("has not passed: %s (%s)", e.Outcome, orElse(e.Why, "it was not judged"))
		return 0, forkbox.Errorf(forkbox.Unconfirmed, op, "%s %s", name, why).About(name, why).
			Hint("to land it all the same: --unjudged")
	}
	return i, nil
}

// mostUpdates is how often a box is brought up to date and checked again before
// the owner has to hold reality still.
const mostUpdates = 3

// run brings the box up to date where it has to be, and lands it. What lands is
// what was checked: reality is looked at again after each check.
func (l *landing) run(ctx context.Context) error {
	if err := l.checkUnchanged(ctx); err != nil {
		return err
	}
	for n := 0; ; n++ {
		drifted, err := l.hasDrifted(ctx)
		if err != nil {
			return err
		}
		if l.result.Drifted = drifted && l.spec.DryRun; !drifted || l.spec.DryRun {
			if err := l.land(ctx); !errors.Is(err, engine.ErrDrifted) {
				return err
			}
		}
		if n == mostUpdates {
			return forkbox.Errorf(forkbox.Conflict, "apply race", "reality keeps changing: %s was brought up to date and checked again %d times, and each time it had changed meanwhile", l.result.Approach, n).
				Hint("apply it again when nothing else writes to %s", l.lane.box.Dir)
		}
		if err := l.update(ctx); err != nil {
			return err
		}
	}
}

// checkUnchanged refuses a box that is not what was judged. No yes replaces
// that: an owner who wants what the box is now applies the box.
func (l *landing) checkUnchanged(ctx context.Context) error {
	if err := l.clean(ctx, &l.rec, l.i, time.Time{}); err != nil {
		return err
	}
	saved := l.entry().Saved
	if saved == "" {
		return nil // nothing has judged it
	}
	same, err := l.boxes.StillIs(ctx, l.who, l.lane.box.ID, saved)
	if err == nil && !same {
		err = engine.ErrAltered
	}
	return l.explain(err)
}

// explain says what to do about a box that is not what was judged.
func (l *landing) explain(err error) error {
	const op = "apply race"
	box, saved := l.lane.box.Name, l.entry().Saved
	switch {
	case errors.Is(err, engine.ErrAltered):
		const why = "its box was changed since it was judged"
		return forkbox.Errorf(forkbox.Unconfirmed, op, "%s is not what it was: %s", l.result.Approach, why).About(l.result.Approach, why).
			Hint("land what was judged: forkbox rollback %s %s, then forkbox race apply %s %s", box, saved, l.rec.Name, l.result.Approach).
			Hint("or land the box as it is now: forkbox apply %s", box)
	case forkbox.CodeOf(err) == forkbox.Busy && saved != "":
		return forkbox.Errorf(forkbox.Busy, op, "something runs in the box of %s, which could change what was judged", l.result.Approach).
			Hint("end it: forkbox stop %s", box)
	}
	return err
}

// land changes reality.
func (l *landing) land(ctx context.Context) error {
	spec := l.spec.ApplySpec
	spec.Conflict = forkbox.Refuse // one that comes up now has not been checked
	spec.Cautions = risk.OfJudges(l.entry().Risks)
	if spec.Message == "" {
		spec.Message = fmt.Sprintf("%s of race %s", l.result.Approach, l.rec.Name)
	}
	receipt, err := l.boxes.Land(ctx, l.who, l.lane.box.ID, l.entry().Saved, spec)
	l.result.Receipt = receipt
	if receipt.ID == "" {
		return l.explain(err)
	}
	return errors.Join(err, l.recordLanded(context.WithoutCancel(ctx), l.result.Approach, receipt.ID))
}

// recordLanded records which approach landed. The boxes of the others are stale
// then.
func (l *landing) recordLanded(ctx context.Context, approach, receipt string) error {
	if l.rec.Landed != approach || l.rec.Receipt != receipt {
		l.rec.Landed, l.rec.Receipt = approach, receipt
		told := l.about(l.rec, forkbox.EventRaceApplied, approach+" landed", forkbox.EventData{To: approach})
		told.Receipt = receipt
		if err := l.ledger.UpdateRace(ctx, l.rec, told); err != nil {
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
