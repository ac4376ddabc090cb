package main

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
)

func (a *app) raceCancelVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RACE",
		Short: "End a race that runs",
		Long: `End a race: all that runs in its boxes is stopped, and nobody wins. What they did until
then stays, and can be looked at. It returns when all is still. A race that has ended
already stays as it is.`,
		Example:           "  forkbox race cancel fix",
		Args:              exactly(1, "a race: forkbox race cancel RACE"),
		ValidArgsFunction: a.completeRaces(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.cancelRace(cmd.Context(), args[0]) },
	}
}

func (a *app) cancelRace(ctx context.Context, ref string) error {
	if err := needsRace("cancel race", ref); err != nil {
		return err
	}
	c := a.client()
	defer c.Close()
	var race forkbox.Race
	err := a.patiently(ctx, "cancelling "+printable(ref), func(ctx context.Context) (err error) {
		race, err = c.CancelRace(ctx, ref)
		return err
	})
	switch {
	case err == interrupted:
		a.sayUnlessJSON("left it; the daemon goes on cancelling. See: forkbox race show %s", printable(ref))
		return err
	case err != nil:
		return err
	case a.json:
		return a.printRaceJSON(race)
	case race.State == forkbox.RaceCancelled:
		a.say("cancelled %s", printable(race.Name))
	default:
		a.say("%s has ended already: %s", printable(race.Name), race.State)
	}
	return nil
}
