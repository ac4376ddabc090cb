package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func DiscardVerb(a *app.App) *cobra.Command {
	d := &discarder{App: a}
	cmd := &cobra.Command{
		Use:   "discard [-y] BOX PATH…|--all",
		Short: "Put paths of a box back to what reality has",
		Long: `Throw away what a box changed at PATH and below: there it is again as reality is.
Nothing outside the box changes, and in the box there is no way back. What the box
has landed stays its own: after an undo of that, the box has it still. --all puts
everything back. At a terminal you are asked first.`,
		Example: `  forkbox discard try package-lock.json
  forkbox discard try src/ --yes
  forkbox discard --all try`,
		Args:              app.Needs(1, "a box and a path: forkbox discard BOX PATH…"),
		ValidArgsFunction: a.CompleteBoxThenPaths,
		RunE:              func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), args[0], args[1:]) },
	}
	cmd.Flags().BoolVar(&d.all, "all", false, "all that the box changed")
	cmd.Flags().BoolVarP(&d.yes, "yes", "y", false, "do not ask")
	return cmd
}

type discarder struct {
	*app.App
	all, yes bool
}

func (d *discarder) run(ctx context.Context, ref string, args []string) error {
	if len(args) > 0 && d.all {
		return errors.New("--all and PATH exclude each other")
	}
	if len(args) == 0 && !d.all {
		return forkbox.Errorf(forkbox.Invalid, "discard changes of box "+ref, "no path is given").
			Hint("name what to put back: forkbox discard %s PATH…", ref).
			Hint("everything: forkbox discard --all %s   or the box itself: forkbox rm %s", ref, ref)
	}
	c := d.Client()
	defer c.Close()
	paths, err := d.Here().PathsIn(args, place.ChangedIn(ctx, c, ref))
	if err != nil {
		return err
	}
	sel := forkbox.Selection{Paths: paths, All: d.all}
	if sure, err := d.sure(ctx, c, ref, sel); err != nil || !sure {
		return err
	}
	var result api.DiscardResult
	err = d.Patiently(ctx, "discarding", func(ctx context.Context) (err error) {
		result, err = c.Discard(ctx, ref, sel)
		return err
	})
	if err != nil {
		return err
	}
	if d.JSON {
		return d.PrintJSON(result)
	}
	d.tell(result.Paths)
	return nil
}

// sure asks, at a terminal, with the number of changes that would go.
func (d *discarder) sure(ctx context.Context, c *client.Client, ref string, sel forkbox.Selection) (bool, error) {
	if d.yes || !d.CanAsk() {
		return true, nil
	}
	sel.All = true // at these paths everything goes
	summary, err := c.Changes(ctx, ref, forkbox.DiffSpec{Selection: sel}, func(forkbox.Change) error { return nil })
	if err != nil || summary.Total == 0 {
		return err == nil, err // nothing to ask about; the daemon says what it makes of it
	}
	if !d.Agree(fmt.Sprintf("discard %s of box %s? There is no way back.", terminal.Plural(summary.Total, "change"), ref)) {
		d.Say("nothing was discarded")
		return false, nil
	}
	return true, nil
}

func (d *discarder) tell(paths []string) {
	if len(paths) == 0 {
		d.Say("nothing to discard")
		return
	}
	d.Say("put back %s:", terminal.Plural(len(paths), "path"))
	at := d.Here()
	for i, path := range paths {
		if i == describe.ShownDeletions {
			d.Say("  and %d more", len(paths)-i)
			return
		}
		d.Say("  %s", terminal.Printable(at.Show(path)))
	}
}
