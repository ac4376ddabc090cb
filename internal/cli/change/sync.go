package change

import (
	"context"
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func SyncVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "sync BOX",
		Short: "Bring what reality changed since into a box",
		Long: `Merge what reality changed since the fork into a box. From then on the box counts
as forked now. Reality stays as it is. Where both changed the same lines, the
file in the box has both between git's conflict markers; edit it there. What is
not text is settled by forkbox apply --conflict theirs, or by forkbox discard.

What runs in the box stands still meanwhile. If it has a file open for writing that
reality changed too, nothing is done: it would go on writing to the old one.

The exit code is 1 when there are conflicts to resolve.`,
		Example:           "  forkbox sync try\n  forkbox sync try || forkbox shell try",
		Args:              app.Exactly(1, "a box: forkbox sync BOX"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return syncBox(cmd.Context(), a, args[0]) },
	}
}

// unresolved is what sync exits with when the user has to look, as git merge
// does.
const unresolved = terminal.ExitStatus(1)

func syncBox(ctx context.Context, a *app.App, ref string) error {
	c := a.Client()
	defer c.Close()
	var result forkbox.SyncResult
	err := a.Patiently(ctx, "syncing "+ref, func(ctx context.Context) (err error) {
		result, err = c.Sync(ctx, ref)
		return err
	})
	if err != nil {
		return err
	}
	if a.JSON {
		err = a.PrintJSON(result)
	} else {
		err = showSync(a, ref, result)
	}
	if err == nil && result.Count.Conflicts+result.Count.Unseen > 0 {
		return unresolved
	}
	return err
}

// showSync lists what happened in the box on stdout.
func showSync(a *app.App, ref string, result forkbox.SyncResult) error {
	at := a.Here()
	for _, list := range []struct {
		what  string
		items []forkbox.Caution
		all   int
	}{
		{"merged", withoutWhy(result.Merged), result.Count.Merged}, {"taken", withoutWhy(result.Taken), result.Count.Taken},
		{"conflict", result.Conflicts, result.Count.Conflicts}, {"unseen", result.Unseen, result.Count.Unseen},
	} {
		for _, item := range list.items {
			if _, err := fmt.Fprintf(a.Stdout, "%-8s  %s%s\n", list.what, terminal.Printable(at.Show(item.Path)), terminal.Because(terminal.Printable(item.Why))); err != nil {
				return err
			}
		}
		if more := list.all - len(list.items); more > 0 {
			a.Say("%-8s  and %d more", list.what, more)
		}
	}
	marked := result.Count.Marked
	if marked > 0 {
		a.Say("%s to resolve in the box: forkbox shell %s", terminal.Plural(marked, "conflict"), ref)
	}
	if n := result.Count.Conflicts - marked; n > 0 { // there is nothing to edit
		a.Say("%s to decide: %s", terminal.Plural(n, "conflict"), decideText(ref))
	}
	if result.Count.Conflicts+result.Count.Unseen == 0 {
		a.Say("box %s is up to date with reality", ref)
	}
	return nil
}

// decideText is for what cannot be settled by editing it in the box.
func decideText(ref string) string {
	return fmt.Sprintf("forkbox apply --conflict theirs %s PATH (the box wins), or forkbox discard %s PATH (reality wins)", ref, ref)
}

func withoutWhy(paths []string) []forkbox.Caution {
	items := make([]forkbox.Caution, len(paths))
	for i, path := range paths {
		items[i].Path = path
	}
	return items
}
