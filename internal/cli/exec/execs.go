package exec

import (
	"context"
	"io"

	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/spf13/cobra"
)

func ExecsVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "execs BOX",
		Short: "List the commands that ran in a box",
		Long: `List the commands that run in a box or ran in it, oldest first, and how each ended.
One that was started with exec -d is marked as detached: forkbox attach joins it as
long as it runs.`,
		Example:           "  forkbox execs try\n  forkbox execs try --json | jq '.execs[] | select(.exit == null).id'",
		Args:              app.Exactly(1, "a box: forkbox execs BOX"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return execs(cmd.Context(), a, args[0]) },
	}
}

func execs(ctx context.Context, a *app.App, ref string) error {
	list, err := a.Client().Execs(ctx, ref)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(client.ExecList{Execs: list})
	}
	if len(list) == 0 {
		a.Say("nothing has run in %s yet: forkbox exec %s -- CMD…", ref, ref)
		return nil
	}
	return a.Table(describe.ExecsHead, func(w io.Writer) { describe.WriteExecs(w, list) })
}
