package main

import (
	"context"

	"github.com/spf13/cobra"
)

// completeRaces offers the names of races, up to most arguments; 0 is no limit.
func (a *app) completeRaces(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, noFiles
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		races, err := a.shyClient().Races(ctx)
		if err != nil {
			return nil, noFiles
		}
		var names []string
		for _, r := range races {
			names = append(names, r.Name+"\t"+string(r.State)+", "+ago(r.Created))
		}
		return names, noFiles | cobra.ShellCompDirectiveKeepOrder
	}
}

// approaches completes the arguments that name a race and its approaches.
type approaches struct{ *app }

// complete offers a race, and then its approaches, the best first.
func (a approaches) complete(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return a.completeRaces(1)(cmd, args, word)
	case 1:
		return a.names(cmd.Context(), args[0]), noFiles | cobra.ShellCompDirectiveKeepOrder
	}
	return nil, noFiles
}

// completeThenPaths goes on with files, as the shell does.
func (a approaches) completeThenPaths(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.complete(cmd, args, word)
}

// completeTwo offers files beside the second approach.
func (a approaches) completeTwo(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 2 {
		return a.names(cmd.Context(), args[0]), cobra.ShellCompDirectiveDefault
	}
	return a.completeThenPaths(cmd, args, word)
}

func (a approaches) names(ctx context.Context, race string) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	r, err := a.shyClient().GetRace(ctx, race)
	if err != nil {
		return nil
	}
	for _, e := range r.Entries {
		names = append(names, e.Name+"\t"+outcomeCell(e))
	}
	return names
}
