package race

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/change"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// land asks where a yes is needed and somebody is there: first whether what has
// not passed is to land at all, then for a second look at what would. One yes
// never answers both.
func (l *raceLander) land(ctx context.Context, c *client.Client, race forkbox.Race, apply forkbox.RaceApply) (forkbox.RaceLanding, error) {
	landing, err := l.try(ctx, c, race, apply)
	for l.CanAsk() {
		question := raceQuestion(err, race, apply)
		if question == nil {
			break
		}
		if !question.ask(&l.Lander, &apply) {
			l.Say("nothing was applied")
			return landing, terminal.ExitStatus(forkbox.Unconfirmed.ExitCode())
		}
		landing, err = l.try(ctx, c, race, apply)
	}
	return landing, l.advise(err, race, apply)
}

// landQuestion is what has to be said yes to.
type landQuestion struct {
	*forkbox.Error
	unjudged bool
}

// raceQuestion is what an error asks for, and nil where no yes helps: each is
// asked once, and to a second look belongs what was looked at.
func raceQuestion(err error, race forkbox.Race, apply forkbox.RaceApply) *landQuestion {
	var e *forkbox.Error
	switch {
	case !errors.As(err, &e) || e.Code != forkbox.Unconfirmed:
		return nil
	case e.Hash != "" && !apply.Yes:
		return &landQuestion{Error: e}
	case e.Hash == "" && !apply.Unjudged && !hasPassed(race, terminal.OrWord(apply.Approach, race.Winner)):
		return &landQuestion{Error: e, unjudged: true}
	}
	return nil
}

// hasPassed says whether an approach may land without being asked for: what is
// flaky has passed more often than not.
func hasPassed(race forkbox.Race, approach string) bool {
	entry, err := findEntry(race, approach)
	return err == nil && (entry.Outcome == forkbox.OutcomePassed || entry.Outcome == forkbox.OutcomeFlaky)
}

func (q *landQuestion) ask(l *change.Lander, apply *forkbox.RaceApply) bool {
	if q.unjudged {
		l.Say("%s", l.Paint(terminal.Yellow, terminal.Printable(q.Why)))
		apply.Unjudged = l.Agree("apply it all the same?")
		return apply.Unjudged
	}
	l.Say("%s", l.Paint(terminal.Yellow, "this deserves a second look:"))
	l.ListItems(q.Items)
	apply.Yes, apply.Reviewed = l.Agree("apply?"), q.Hash // what was looked at, and nothing else
	return apply.Yes
}

func (l *raceLander) try(ctx context.Context, c *client.Client, race forkbox.Race, apply forkbox.RaceApply) (landing forkbox.RaceLanding, err error) {
	err = l.Patiently(ctx, "applying "+terminal.Printable(race.Name), func(ctx context.Context) error {
		landing, err = c.ApplyRace(ctx, race.ID, apply)
		return err
	})
	if err == terminal.Interrupted {
		l.Say("interrupted; whether it landed is in: forkbox receipts")
	}
	return landing, err
}

// advise says what would help, in the words of race.
func (l *raceLander) advise(err error, race forkbox.Race, apply forkbox.RaceApply) error {
	name := terminal.OrWord(apply.Approach, race.Winner)
	switch q := raceQuestion(err, race, apply); {
	case q != nil && q.unjudged:
		err = app.Advise(err, forkbox.Unconfirmed, "--unjudged", "look at it: forkbox race diff -p %s %s   land it all the same: forkbox race apply --unjudged %s %s", race.Name, name, race.Name, name)
	case q != nil:
		err = app.Advise(err, forkbox.Unconfirmed, "--yes", "look at it: forkbox race diff -p %s %s   accept it: forkbox race apply --yes %s %s", race.Name, name, race.Name, name)
	}
	entry, missing := entryWithBox(race, name)
	if missing != nil {
		return err
	}
	return adviseRaceConflict(err, terminal.OrWord(entry.BoxName, entry.Box))
}

// adviseRaceConflict: a race lands what its checks have passed, and a choice
// between two versions is none of that. It is one for the box alone.
func adviseRaceConflict(err error, box string) error {
	var e *forkbox.Error
	if !errors.As(err, &e) || e.Code != forkbox.Conflict || len(e.Items) == 0 {
		return err
	}
	e.Hints = slices.DeleteFunc(e.Hints, func(hint string) bool { // of a flag that only apply has
		return strings.Contains(hint, "--conflict") && !strings.Contains(hint, "forkbox apply")
	})
	err = app.Advise(err, forkbox.Conflict, "forkbox sync", "settle them in its box, and land that: forkbox sync %s, then forkbox apply %s", box, box)
	return app.Advise(err, forkbox.Conflict, "--conflict", "or say which version lands, without its checks: forkbox apply --conflict=theirs %s (or ours, or markers)", box)
}
