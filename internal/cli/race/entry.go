package race

import (
	"context"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

// needsRace refuses an empty name where something is changed: to look, that is
// the newest race, but what comes of an unset variable is not what was meant.
func needsRace(op, ref string) error {
	if ref != "" {
		return nil
	}
	return forkbox.Errorf(forkbox.Invalid, op, "the name of the race is empty").Hint("forkbox race ls lists them")
}

// findEntry is an approach of a race, by its name.
func findEntry(race forkbox.Race, name string) (forkbox.Entry, error) {
	var names []string
	for _, e := range race.Entries {
		if e.Name == name {
			return e, nil
		}
		names = append(names, terminal.Printable(e.Name))
	}
	return forkbox.Entry{}, forkbox.Errorf(forkbox.NotFound, "find approach "+name, "race %s has none of that name", race.Name).
		Hint("it has %s", terminal.CutCells(strings.Join(names, ", "), longestWhy))
}

// entryWithBox is findEntry for what needs the approach's box.
func entryWithBox(race forkbox.Race, name string) (forkbox.Entry, error) {
	entry, err := findEntry(race, name)
	if err == nil && entry.Box == "" {
		err = forkbox.Errorf(forkbox.NotFound, "look at approach "+name, "it has no box%s", terminal.Because(entry.Why))
	}
	return entry, err
}

// boxRef is the box as the steps left it. While what judges them runs, that is
// not what the box has now.
func boxRef(e forkbox.Entry) string {
	if e.Phase != forkbox.PhaseDone && e.Saved != "" {
		return e.Box + "@" + e.Saved
	}
	return e.Box
}

// orGone says of a box that is not there whose it was, and what is left of it.
func orGone(err error, race forkbox.Race) error {
	return app.Advise(err, forkbox.NotFound, "race log", "the boxes of a race can go before it does; what they printed is kept: forkbox race log %s APPROACH", race.Name)
}

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
