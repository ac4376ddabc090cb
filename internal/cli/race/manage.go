package race

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func raceListVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List your races",
		Long: `List your races, newest first. WINNER is who won, and LANDED who was applied. Races
stay on record, with what they printed, until forkbox race rm; the latest 200 do.`,
		Example:           "  forkbox race ls\n  forkbox race ls --json | jq -r '.races[] | select(.winner == null).name'",
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			races, err := a.Client().Races(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON {
				return printRaceJSON(a, api.RaceList{Races: races})
			}
			if len(races) == 0 {
				a.Say("no races yet; run one: forkbox race --try NAME=CMD --try NAME=CMD --check CMD")
				return nil
			}
			return a.Table("NAME\tID\tSTATE\tAPPROACHES\tWINNER\tLANDED\tCREATED\tTOOK", func(w io.Writer) { writeRaces(w, races) })
		},
	}
}

func writeRaces(w io.Writer, races []forkbox.Race) {
	for _, r := range races {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", terminal.Printable(r.Name), r.ID, r.State, len(r.Entries),
			terminal.OrWord(terminal.Printable(r.Winner), "-"), terminal.OrWord(terminal.Printable(r.Landed), "-"), terminal.Ago(r.Created), raceTook(r, time.Now()))
	}
}

// raceTook is how long it took, or has taken so far.
func raceTook(r forkbox.Race, now time.Time) string {
	if r.Ended.IsZero() {
		return raceSpan(now.Sub(r.Created))
	}
	return raceSpan(r.Ended.Sub(r.Created))
}

func raceRemoveVerb(a *app.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:     "rm [-f] RACE…",
		Aliases: []string{"remove"},
		Short:   "Remove a race with its boxes",
		Long: `Remove a race with its boxes and what they printed. There is no way back. What was
applied stays in reality, and can still be undone. With -f also one that runs: it is
cancelled first.`,
		Example:           "  forkbox race rm fix\n  forkbox race rm -f fix other",
		Args:              app.Needs(1, "a race: forkbox race rm RACE…"),
		ValidArgsFunction: completeRaces(a, 0),
		RunE:              func(cmd *cobra.Command, args []string) error { return removeRaces(cmd.Context(), a, args, force) },
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "also one that runs")
	return cmd
}

func removeRaces(ctx context.Context, a *app.App, refs []string, force bool) error {
	c := a.Client()
	defer c.Close()
	removed := []string{}
	failed := a.Each(refs, func(ref string) error {
		if err := needsRace("remove race", ref); err != nil {
			return err
		}
		defer a.Progress("removing " + terminal.Printable(ref))()
		err := c.RemoveRace(ctx, ref, force)
		if err == nil {
			removed = append(removed, ref)
		}
		return err
	})
	if a.JSON {
		if err := printRaceJSON(a, map[string]any{"removed": removed}); err != nil {
			return err
		}
	}
	return failed
}

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
