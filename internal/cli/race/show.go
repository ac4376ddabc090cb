package race

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func raceShowVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show [RACE]",
		Short: "Show a race: who won, and why",
		Long: `Show a race: what it began at, the table with the best first, why each is where it is,
and what deserves a look before it lands. Without RACE it is the newest. Of one that
runs it is what is known so far.

RANK has a = where approaches share it. CHECKS is how many of them passed. A metric is
its median, ± half of what the middle half of its values spreads over. TIME is how long
the steps took; CPU and MEMORY, at its peak, are what the box used in all. DIFF is how
much changed in the workspace.`,
		Example:           "  forkbox race show\n  forkbox race show fix --json | jq -r '.entries[] | [.rank, .name, .outcome] | @tsv'",
		Args:              app.Between(0, 1, "one race at most: forkbox race show [RACE]"),
		ValidArgsFunction: completeRaces(a, 1),
		RunE:              func(cmd *cobra.Command, args []string) error { return showRace(cmd.Context(), a, append(args, "")[0]) },
	}
}

func showRace(ctx context.Context, a *app.App, ref string) error {
	race, err := a.Client().GetRace(ctx, ref)
	if err != nil {
		return err
	}
	if a.JSON {
		return printRaceJSON(a, race)
	}
	if err := a.Table("", func(w io.Writer) { writeRaceFacts(w, race) }); err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout)
	if err := writeRaceResult(a.Stdout, race); err != nil {
		return forkbox.Wrap("print", err)
	}
	sayNext(a, race)
	return nil
}

func writeRaceFacts(w io.Writer, r forkbox.Race) {
	spec := r.Spec
	rows := [][2]string{
		{"id", r.ID}, {"created", r.Created.Local().Format(time.DateTime) + ", " + terminal.Ago(r.Created)}, {"directory", terminal.Printable(spec.Start.Dir)},
		{"began at", terminal.Printable(raceBase(r))}, {"setup", commandNames(spec.Setup)}, {"checks", checkNames(spec.Checks)},
		{"stops", stopText(spec)}, {"seed", fmt.Sprint(spec.Seed)}, {"repeats", terminal.Printable(spec.Rerun)},
	}
	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
}

// raceBase is what all boxes of a race began as.
func raceBase(r forkbox.Race) string {
	base := r.Spec.Start.From
	switch {
	case r.Spec.Start.Template != "":
		base = "template " + r.Spec.Start.Template
	case base == "" || base == forkbox.Reality:
		base = forkbox.Reality
		if !r.Fence.IsZero() {
			base += " of " + r.Fence.Local().Format(time.DateTime)
		}
	}
	if len(r.Spec.Setup) > 0 {
		base += ", after the setup"
	}
	return base
}

func stopText(spec forkbox.RaceSpec) string {
	text := ""
	switch spec.Stop {
	case forkbox.StopFirstPass:
		text = "when one has passed"
	default:
		text = "when each has ended"
	}
	if spec.Deadline > 0 {
		text += ", after " + raceSpan(spec.Deadline) + " at the latest"
	}
	return text
}

func checkNames(checks []forkbox.RaceCheck) string {
	var list []forkbox.Command
	for _, c := range checks {
		list = append(list, c.Command)
	}
	return commandNames(list)
}

// commandNames are what people call commands.
func commandNames(list []forkbox.Command) string {
	var names []string
	for _, c := range list {
		names = append(names, shortCommand(terminal.OrWord(c.Name, terminal.OrWord(c.Run, terminal.CommandLine(c.Argv)))))
	}
	return terminal.CutCells(strings.Join(names, "; "), longestWhy)
}
