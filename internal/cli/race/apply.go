package race

import (
	"context"
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/change"
	"github.com/forkbox/forkbox/internal/cli/place"
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
	if apply.ApplySpec, err = l.Parse(place.Here(), args[min(2, len(args)):]); err != nil {
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
