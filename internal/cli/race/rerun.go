package race

import (
	"context"
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func raceRerunVerb(a *app.App) *cobra.Command {
	r := &racer{App: a}
	var name string
	cmd := &cobra.Command{
		Use:   "rerun [--name N] [--apply [-y]] [-d] RACE",
		Short: "Run a race again, exactly",
		Long: `Run a race again: the same approaches, judged by the same checks, with the same limits,
environment and seed, from the same point. A setup is not run again: they begin at what
it left. A race that began at reality does so again; what has changed there since is
said.

It is a race of its own, with a name of its own.`,
		Example:           "  forkbox race rerun fix\n  forkbox race rerun --name again --apply fix",
		Args:              app.Exactly(1, "a race: forkbox race rerun RACE"),
		ValidArgsFunction: completeRaces(a, 1),
		RunE:              func(cmd *cobra.Command, args []string) error { return r.rerun(cmd.Context(), args[0], name) },
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the new race; one is made up where none is given")
	cmd.RegisterFlagCompletionFunc("name", cobra.NoFileCompletions)
	r.addEnd(cmd)
	return cmd
}

func (r *racer) rerun(ctx context.Context, ref, name string) error {
	if err := r.checkEnd(); err != nil {
		return err
	}
	if err := needsRace("run a race again", ref); err != nil {
		return err
	}
	c := r.Client()
	defer c.Close()
	before, err := c.GetRace(ctx, ref)
	if err != nil {
		return err
	}
	r.tellMoved(ctx, c, before)
	spec := before.Spec
	spec.Name, spec.Rerun = name, before.ID
	return r.race(ctx, c, spec)
}

// tellMoved says how reality differs from what a race began at. The daemon
// knows what has changed since a box was forked, of one that is still there.
func (r *racer) tellMoved(ctx context.Context, c *client.Client, race forkbox.Race) {
	start := race.Spec.Start
	if r.JSON || race.Point != "" || start.Template != "" || start.From != "" && start.From != forkbox.Reality {
		return
	}
	for _, e := range race.Entries {
		if e.Box == "" {
			continue
		}
		status, err := c.Status(ctx, e.Box)
		if err != nil {
			continue
		}
		if text := movedText(status); text != "" {
			r.Say("note: %s", text)
		}
		return
	}
	r.Say("note: its boxes are gone: whether reality has changed since cannot be told")
}

// shownMoved is how many of the changed paths are named.
const shownMoved = 3

// movedText says what has changed in reality since a box was forked, and nothing
// where nothing has.
func movedText(s forkbox.BoxStatus) string {
	if len(s.Drift) == 0 {
		return ""
	}
	var names []string
	at := place.Here()
	for _, d := range s.Drift[:min(len(s.Drift), shownMoved)] {
		names = append(names, terminal.Printable(at.Show(d.Path)))
	}
	count := terminal.Plural(len(s.Drift), "path")
	if s.Partial {
		count = "more than " + count
	}
	if len(s.Drift) > shownMoved {
		names = append(names, "…")
	}
	return fmt.Sprintf("reality has changed since: %s (%s)", count, strings.Join(names, ", "))
}
