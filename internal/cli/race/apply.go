package race

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/change"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func raceApplyVerb(a *app.App) *cobra.Command {
	l := &raceLander{Lander: change.Lander{App: a}}
	cmd := &cobra.Command{
		Use:   "apply [-i] [--hunks FILE:N,…]… [--all] [--dry-run] [--commit [--hooks]] [-m M] [--unjudged] [-y] RACE [APPROACH [PATH…]]",
		Short: "Land the winner of a race, or another approach",
		Long: `Land what an approach did in reality, as forkbox apply does: all of it or, when
anything stands in the way, nothing. Without APPROACH it is the winner. The id of the
receipt is on stdout; forkbox undo takes it back.

If reality has changed since the race began, the approach is brought up to date
first, and its checks are run again. Where one fails, or where both changed the same
lines, nothing lands; forkbox apply --conflict BOX lands the box all the same.

An approach that has not passed needs a yes of its own, beside the one to what deserves
a second look: at the terminal, or with --unjudged. --yes is both.

A race lands once; after forkbox undo it can again. The boxes of the other approaches
are stale then, and are removed after a day.

The other flags are those of forkbox apply.`,
		Example: `  forkbox race apply fix
  forkbox race apply --commit -m 'Fix the login' fix patch
  forkbox race apply --dry-run fix
  forkbox race apply -i fix patch src/`,
		Args:              app.Needs(1, "a race: forkbox race apply RACE [APPROACH [PATH…]]"),
		ValidArgsFunction: approaches{a}.completeThenPaths,
		RunE:              func(cmd *cobra.Command, args []string) error { return l.run(cmd.Context(), args) },
	}
	l.add(cmd)
	return cmd
}

// raceLander carries what an approach did to reality.
type raceLander struct {
	change.Lander
	unjudged bool
}

// add has the flags of apply but for --conflict: what a race lands is what its
// checks have passed, and no choice between two versions is.
func (l *raceLander) add(cmd *cobra.Command) {
	like := &cobra.Command{}
	l.Lander.Add(like)
	like.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "conflict" {
			cmd.Flags().AddFlag(f)
		}
	})
	cmd.Flags().BoolVar(&l.unjudged, "unjudged", false, "also an approach that has not passed")
}

func (l *raceLander) run(ctx context.Context, args []string) error {
	if err := needsRace("apply race", args[0]); err != nil {
		return err
	}
	c := l.Client()
	defer c.Close()
	race, err := c.GetRace(ctx, args[0])
	if err != nil {
		return err
	}
	apply := forkbox.RaceApply{Approach: append(args, "")[1]}
	if apply.ApplySpec, err = l.Parse(l.Here(), args[min(2, len(args)):]); err != nil {
		return err
	}
	apply.Unjudged = l.unjudged || l.Spec.Yes
	if l.Interactive {
		some, err := l.chooseOf(ctx, c, race, &apply)
		if err != nil || !some {
			return err
		}
	}
	landing, err := l.land(ctx, c, race, apply)
	if err != nil {
		return err
	}
	return l.show(landing, apply.ApplySpec)
}

// chooseOf asks hunk by hunk, in the box of the approach that is meant.
func (l *raceLander) chooseOf(ctx context.Context, c *client.Client, race forkbox.Race, apply *forkbox.RaceApply) (bool, error) {
	entry, err := entryToLand(race, apply.Approach)
	if err != nil {
		return false, err
	}
	apply.Approach = entry.Name // the winner must not become another meanwhile
	return l.Choose(ctx, c, entry.Box, &apply.ApplySpec)
}

func entryToLand(race forkbox.Race, approach string) (forkbox.Entry, error) {
	if approach == "" {
		approach = race.Winner
	}
	if approach == "" {
		return forkbox.Entry{}, forkbox.Errorf(forkbox.Invalid, "apply race "+race.Name, "nobody has won it").
			Hint("name an approach: forkbox race apply %s APPROACH", race.Name)
	}
	return entryWithBox(race, approach)
}

// landWinner is race --apply.
func (l *raceLander) landWinner(ctx context.Context, c *client.Client, race forkbox.Race, yes bool) error {
	apply := forkbox.RaceApply{Approach: race.Winner, Unjudged: yes, ApplySpec: forkbox.ApplySpec{Yes: yes, Message: fmt.Sprintf("%s of race %s", race.Winner, race.Name)}}
	landing, err := l.land(ctx, c, race, apply)
	switch {
	case err != nil:
		return err
	case l.JSON: // one more line after the events
		return printRaceLine(l.App, map[string]any{"landing": landing})
	}
	return l.show(landing, apply.ApplySpec)
}

// show has the id of the receipt alone on stdout, as apply does.
func (l *raceLander) show(landing forkbox.RaceLanding, spec forkbox.ApplySpec) error {
	if l.JSON {
		return printRaceJSON(l.App, landing)
	}
	if landing.Drifted && spec.DryRun {
		l.Say("reality has changed since: it would be brought up to date first, and its checks, run again, decide whether it lands")
	}
	if s := landing.Synced; s != nil {
		l.Say("reality has changed since: brought up to date, %s merged, %d taken over", terminal.Plural(s.Count.Merged, "path"), s.Count.Taken)
	}
	if len(landing.Checked) > 0 {
		l.Say("checked again: %s passed", checksCell(forkbox.Entry{Checks: landing.Checked}))
	}
	return l.ShowReceipt(terminal.OrWord(landing.Receipt.BoxName, landing.Approach), landing.Receipt, spec)
}

// land asks where a yes is needed and a user is there: first whether what has
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
