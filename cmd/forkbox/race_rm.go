package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) raceRemoveVerb() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:     "rm [-f] RACE…",
		Aliases: []string{"remove"},
		Short:   "Remove a race with its boxes",
		Long: `Remove a race with its boxes and what they printed. There is no way back. What was
applied stays in reality, and can still be undone. With -f also one that runs: it is
cancelled first.`,
		Example:           "  forkbox race rm fix\n  forkbox race rm -f fix other",
		Args:              needs(1, "a race: forkbox race rm RACE…"),
		ValidArgsFunction: a.completeRaces(0),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.removeRaces(cmd.Context(), args, force) },
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "also one that runs")
	return cmd
}

func (a *app) removeRaces(ctx context.Context, refs []string, force bool) error {
	c := a.client()
	defer c.Close()
	removed := []string{}
	failed := a.each(refs, func(ref string) error {
		if err := needsRace("remove race", ref); err != nil {
			return err
		}
		defer a.progress("removing " + printable(ref))()
		err := c.RemoveRace(ctx, ref, force)
		if err == nil {
			removed = append(removed, ref)
		}
		return err
	})
	if a.json {
		if err := a.printRaceJSON(map[string]any{"removed": removed}); err != nil {
			return err
		}
	}
	return failed
}
