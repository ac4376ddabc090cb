package main

import (
	"context"
	"io"

	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) execsVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "execs BOX",
		Short: "List the commands that ran in a box",
		Long: `List the commands that run in a box or ran in it, oldest first, and how each ended.
One that was started with exec -d is marked as detached: forkbox attach joins it as
long as it runs.`,
		Example:           "  forkbox execs try\n  forkbox execs try --json | jq '.execs[] | select(.exit == null).id'",
		Args:              exactly(1, "a box: forkbox execs BOX"),
		ValidArgsFunction: a.completeBoxes(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.execs(cmd.Context(), args[0]) },
	}
}

func (a *app) execs(ctx context.Context, ref string) error {
	list, err := a.client().Execs(ctx, ref)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(client.ExecList{Execs: list})
	}
	if len(list) == 0 {
		a.say("nothing has run in %s yet: forkbox exec %s -- CMD…", ref, ref)
		return nil
	}
	return a.table(execsHead, func(w io.Writer) { writeExecs(w, list) })
}
