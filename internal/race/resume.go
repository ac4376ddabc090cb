package race

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// mostResumed is how often a race is taken over before it is given up: it may
// be what the daemons die of.
const mostResumed = 20

// Resume goes on with the races that ran when the last daemon ended. The engine
// has found its boxes again before.
func (r *Races) Resume(ctx context.Context) error {
	races, err := r.ledger.Races(ctx, nil, forkbox.RaceRunning)
	if err != nil {
		return err
	}
	for _, rec := range slices.Backward(races) { // oldest first
		if err := r.resume(ctx, rec); err != nil {
			r.log.Error("cannot go on with a race", "race", rec.ID, "name", rec.Name, "error", err)
		}
	}
	r.inBackground(func() { r.restForgotten(races); r.cleanLater(r.ctx) })
	return nil
}

func (r *Races) resume(ctx context.Context, rec forkbox.Race) error {
	rec.Resumed++
	if err := r.ledger.UpdateRace(ctx, rec); err != nil {
		return err
	}
	run := r.newRace(rec)
	boxes, err := r.boxesOf(ctx, rec)
	if err == nil {
		err = run.findLanes(ctx, boxes)
	}
	if err != nil {
		return err
	}
	switch {
	case rec.Why == cancelling:
		run.cancel(errCancelled)
	case rec.Resumed > mostResumed:
		run.cancel(fmt.Errorf("%d daemons have ended while it ran", rec.Resumed))
	}
	run.say("a new daemon goes on with the race")
	return r.launch(run)
}

// boxesOf are the boxes of a race, those of all attempts and of its setup.
func (r *Races) boxesOf(ctx context.Context, rec forkbox.Race) ([]forkbox.Box, error) {
	boxes, err := r.ledger.Boxes(ctx, &rec.Owner.UID)
	return slices.DeleteFunc(boxes, func(b forkbox.Box) bool { return b.Race != rec.ID }), err
}

// findLanes finds out what of the race is there already. An approach that had
// passed and whose box is not there any more, or was lost, begins anew: it is
// still to be measured, or could not land.
func (r *race) findLanes(ctx context.Context, boxes []forkbox.Box) error {
	if err := r.findBoxes(ctx, boxes); err != nil {
		return err
	}
	for i, e := range r.rec.Entries {
		good := e.Outcome == forkbox.OutcomePassed || e.Outcome == forkbox.OutcomeFlaky
		if good && r.found[e.Name] == nil {
			r.rec.Entries[i] = forkbox.Entry{Name: e.Name, Phase: forkbox.PhaseWaiting, Attempt: e.Attempt, Started: e.Started}
		}
	}
	return nil
}

func (r *race) findBoxes(ctx context.Context, boxes []forkbox.Box) error {
	for _, box := range boxes {
		b, err := r.findLane(ctx, box)
		if err != nil {
			return err
		}
		if b == nil || r.found[box.Approach] != nil {
			// Of an attempt that failed, and was about to go, or lost.
			if err := r.boxes.Remove(ctx, r.who, box.ID, true); err != nil {
				return err
			}
			continue
		}
		r.found[box.Approach] = b
	}
	return nil
}

// findLane is a box of the race as it was left, nil if it is of an attempt that
// is over, or the box died while a command was run in it.
func (r *race) findLane(ctx context.Context, box forkbox.Box) (*lane, error) {
	execs, err := r.boxes.Execs(ctx, r.who, box.ID)
	if err != nil {
		return nil, err
	}
	i, attempt := setupLane, 1
	if box.Approach != "" {
		if i = r.indexOf(box.Approach); i < 0 {
			return nil, nil
		}
		attempt = max(1, r.entry(i).Attempt)
	}
	b := r.newLane(i, attempt, box)
	b.known = map[string]forkbox.Exec{}
	for _, x := range execs {
		if x.Label == "" {
			continue // of another approach or race
		}
		if attemptOf(x.Label) != attempt || lost(x.Exit) {
			return nil, nil
		}
		b.known[x.Label] = x
	}
	return b, nil
}

// attemptOf is the attempt that a label says, zero if none.
func attemptOf(label string) int {
	first, _, _ := strings.Cut(label, "/")
	n, err := strconv.Atoi(strings.TrimPrefix(first, "a"))
	if err != nil {
		return 0
	}
	return n
}

// restForgotten stops the boxes of races that ended without having stopped
// them, because their daemon died. One that the owner has begun to use is left
// alone.
func (r *Races) restForgotten(running []forkbox.Race) {
	boxes, err := r.ledger.Boxes(r.ctx, nil, forkbox.Running)
	if err != nil {
		return
	}
	for _, box := range boxes {
		runs := slices.ContainsFunc(running, func(rec forkbox.Race) bool { return rec.ID == box.Race })
		if box.Race == "" || box.Pinned || runs || r.running(box.Race) != nil {
			continue
		}
		execs, err := r.boxes.Execs(r.ctx, box.Owner, box.ID)
		if err != nil || slices.ContainsFunc(execs, func(x forkbox.Exec) bool { return x.Label == "" }) {
			continue
		}
		grace := stopGrace
		if _, err := r.boxes.Stop(r.ctx, box.Owner, box.ID, &grace); err != nil {
			r.log.Warn("cannot stop the box of a race", "race", box.Race, "box", box.ID, "error", err)
		}
	}
}
