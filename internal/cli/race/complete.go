package race

import (
	"context"

	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

// completeRaces offers the names of races, up to most arguments; 0 is no limit.
func completeRaces(a *app.App, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, app.NoFiles
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), app.CompletionPatience)
		defer cancel()
		races, err := a.ShyClient().Races(ctx)
		if err != nil {
			return nil, app.NoFiles
		}
		var names []string
		for _, r := range races {
			names = append(names, r.Name+"\t"+string(r.State)+", "+terminal.Ago(r.Created))
		}
		return names, app.NoFiles | cobra.ShellCompDirectiveKeepOrder
	}
}

// approaches completes the arguments that name a race and its approaches.
type approaches struct{ *app.App }

// complete offers a race, and then its approaches, the best first.
func (a approaches) complete(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return completeRaces(a.App, 1)(cmd, args, word)
	case 1:
		return a.names(cmd.Context(), args[0]), app.NoFiles | cobra.ShellCompDirectiveKeepOrder
	}
	return nil, app.NoFiles
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
	ctx, cancel := context.WithTimeout(ctx, app.CompletionPatience)
	defer cancel()
	r, err := a.ShyClient().GetRace(ctx, race)
	if err != nil {
		return nil
	}
	for _, e := range r.Entries {
		names = append(names, e.Name+"\t"+outcomeCell(e))
	}
	return names
}
