package race

import (
	"fmt"
	"io"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
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
				return printRaceJSON(a, client.RaceList{Races: races})
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
