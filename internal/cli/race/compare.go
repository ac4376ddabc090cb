package race

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/change"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/race/page"
	"github.com/spf13/cobra"
)

func raceCompareVerb(a *app.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "compare --html FILE RACE",
		Short: "Write a page that shows the approaches side by side",
		Long: `Write one HTML page about a race: the table, charts of what was measured, and what
each approach changed. It needs nothing but itself, and can be mailed. FILE is there
when all of it is, and not before; - is stdout.

Of large changes there is a part: the page says which. An approach that has landed does
not differ from reality any more: the page names its receipt.`,
		Example:           "  forkbox race compare fix --html fix.html\n  forkbox race compare fix --html - | lynx -stdin",
		Args:              app.Exactly(1, "a race: forkbox race compare RACE --html FILE"),
		ValidArgsFunction: completeRaces(a, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return errors.New("compare needs the file to write: --html FILE")
			}
			return compareRace(cmd.Context(), a, args[0], file)
		},
	}
	cmd.Flags().StringVar(&file, "html", "", "write the page to this `file`; - is stdout")
	return cmd
}

func compareRace(ctx context.Context, a *app.App, ref, file string) error {
	toStdout := file == "-"
	if toStdout && a.JSON {
		return forkbox.Errorf(forkbox.Invalid, "compare", "stdout cannot have both the page and the document of --json").
			Hint("name a file: forkbox race compare %s --html FILE --json", ref)
	}
	moved := &terminal.Flow{What: "comparing " + terminal.Printable(ref)}
	err := a.Tidily(ctx, moved.Text, func(ctx context.Context) error {
		p, err := racePage(ctx, a, ref)
		if err != nil {
			return err
		}
		write := func(w io.Writer) error { return page.Write(moved.Writer(w), p) }
		if toStdout {
			return forkbox.Wrap("print", write(a.Stdout))
		}
		return app.WriteWhole(file, write)
	})
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(app.Written{File: file, Bytes: moved.Done.Load()})
	case !toStdout:
		a.Say("%s: %s", terminal.Printable(file), forkbox.FormatSize(moved.Done.Load()))
	}
	return nil
}

// racePage gathers what each approach changed. A box that is gone leaves its
// approach without.
func racePage(ctx context.Context, a *app.App, ref string) (page.Page, error) {
	c := a.Client()
	defer c.Close()
	p := page.Page{Diffs: map[string][]forkbox.Change{}, Cut: map[string]bool{}, Made: time.Now(), Version: a.Version()}
	var err error
	if p.Race, err = c.GetRace(ctx, ref); err != nil {
		return p, err
	}
	for _, entry := range p.Race.Entries {
		if entry.Box == "" {
			continue
		}
		changes, cut, err := someChanges(ctx, c, boxRef(entry))
		switch {
		case forkbox.CodeOf(err) == forkbox.NotFound:
			sayUnlessJSON(a, "note: the box of %s is gone, and what it changed with it", terminal.Printable(entry.Name))
		case err != nil:
			return p, err
		default:
			p.Diffs[entry.Name], p.Cut[entry.Name] = changes, cut
		}
	}
	return p, nil
}

// How much of what an approach changed is on the page.
const (
	mostPatches = 2 << 20 // bytes
	mostChanges = 5000
)

var errEnoughChanges = errors.New("there are more changes than a page shows")

// someChanges are those of a box, with patches as far as there is room for them.
func someChanges(ctx context.Context, c *client.Client, ref string) (changes []forkbox.Change, cut bool, err error) {
	room := mostPatches
	_, err = c.Changes(ctx, ref, forkbox.DiffSpec{Patch: true, Renames: true}, func(change forkbox.Change) error {
		if len(changes) == mostChanges {
			return errEnoughChanges
		}
		if len(change.Patch) > room {
			change.Patch, cut = nil, true
		}
		room -= len(change.Patch)
		changes = append(changes, change)
		return nil
	})
	if errors.Is(err, errEnoughChanges) {
		return changes, true, nil
	}
	return changes, cut, err
}

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
