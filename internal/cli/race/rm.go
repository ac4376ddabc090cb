package race

import (
	"context"

	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

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
