package race

import (
	"context"
	"os"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/change"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func raceDiffVerb(a *app.App) *cobra.Command {
	d := &differ{change.Differ{App: a}}
	cmd := &cobra.Command{
		Use:   "diff [--stat|-p|--name-only] [--all] RACE APPROACH [APPROACH2] [PATH…]",
		Short: "Show what an approach did, or did that another did not",
		Long: `Show what an approach changed, as forkbox diff does. With APPROACH2 it is compared with
that one: what APPROACH did that APPROACH2 did not, or did otherwise. With PATH only
what is there or below is shown; write one that is called like an approach as ./PATH.

What checks and metrics wrote is not in it: an approach is what its steps left.`,
		Example: `  forkbox race diff fix patch
  forkbox race diff -p fix patch | git apply
  forkbox race diff --stat fix patch dep
  forkbox race diff fix patch --json | jq -r '.changes[].path'`,
		Args:              app.Needs(2, "a race and an approach: forkbox race diff RACE APPROACH [APPROACH2] [PATH…]"),
		ValidArgsFunction: approaches{a}.completeTwo,
		RunE:              func(cmd *cobra.Command, args []string) error { return d.ofRace(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.BoolVarP(&d.Patch, "patch", "p", false, "a patch in git's format")
	flags.BoolVar(&d.Stat, "stat", false, "lines added and removed per path")
	flags.BoolVar(&d.NameOnly, "name-only", false, "paths only")
	flags.BoolVarP(&d.Nul, "null", "z", false, "with --name-only: end names with NUL, quote nothing")
	flags.BoolVar(&d.All, "all", false, "system and noise too")
	flags.BoolVar(&d.NoPager, "no-pager", false, "no pager")
	flags.BoolVar(&d.Raw, "raw", false, "with -p: also to a terminal as in a pipe, control sequences and all")
	cmd.MarkFlagsMutuallyExclusive("name-only", "stat", "patch")
	return cmd
}

// differ is that of forkbox diff, between approaches.
type differ struct{ change.Differ }

// ofRace tells a second approach from the first path.
func (d *differ) ofRace(ctx context.Context, args []string) error {
	race, err := d.Client().GetRace(ctx, args[0])
	if err != nil {
		return err
	}
	one, err := entryWithBox(race, args[1])
	if err != nil {
		return err
	}
	rest := args[2:]
	if len(rest) > 0 && isApproach(race, rest[0]) {
		other, err := entryWithBox(race, rest[0])
		if err != nil {
			return err
		}
		d.Against, rest = boxRef(other), rest[1:]
	} else if len(rest) > 0 && !d.JSON {
		d.tellPath(race, rest[0])
	}
	if race.Landed == one.Name && d.Against == "" && !d.JSON {
		d.Say("note: it has landed, so that reality has it as well: forkbox receipts %s", race.Receipt)
	}
	return orGone(d.Run(ctx, boxRef(one), rest), race)
}

// tellPath says how a word was understood that could have been meant as an
// approach: it is called like nothing that is here.
func (d *differ) tellPath(race forkbox.Race, arg string) {
	if _, err := os.Lstat(arg); err != nil && !strings.ContainsAny(arg, "/.") {
		d.Say("note: race %s has no approach %s: it is taken for a path", terminal.Printable(race.Name), terminal.Printable(arg))
	}
}

func isApproach(race forkbox.Race, name string) bool {
	_, err := findEntry(race, name)
	return err == nil
}
