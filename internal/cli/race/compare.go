package race

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
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
