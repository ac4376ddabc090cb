package race

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func raceCancelVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RACE",
		Short: "End a race that runs",
		Long: `End a race: all that runs in its boxes is stopped, and nobody wins. What they did until
then stays, and can be looked at. It returns when all is still. A race that has ended
already stays as it is.`,
		Example:           "  forkbox race cancel fix",
		Args:              app.Exactly(1, "a race: forkbox race cancel RACE"),
		ValidArgsFunction: completeRaces(a, 1),
		RunE:              func(cmd *cobra.Command, args []string) error { return cancelRace(cmd.Context(), a, args[0]) },
	}
}

func cancelRace(ctx context.Context, a *app.App, ref string) error {
	if err := needsRace("cancel race", ref); err != nil {
		return err
	}
	c := a.Client()
	defer c.Close()
	var race forkbox.Race
	err := a.Patiently(ctx, "cancelling "+terminal.Printable(ref), func(ctx context.Context) (err error) {
		race, err = c.CancelRace(ctx, ref)
		return err
	})
	switch {
	case err == terminal.Interrupted:
		sayUnlessJSON(a, "left it; the daemon goes on cancelling. See: forkbox race show %s", terminal.Printable(ref))
		return err
	case err != nil:
		return err
	case a.JSON:
		return printRaceJSON(a, race)
	case race.State == forkbox.RaceCancelled:
		a.Say("cancelled %s", terminal.Printable(race.Name))
	default:
		a.Say("%s has ended already: %s", terminal.Printable(race.Name), race.State)
	}
	return nil
}
