package main

import (
	"context"
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) undoVerb() *cobra.Command {
	u := &undoer{app: a}
	cmd := &cobra.Command{
		Use:   "undo [--force PATH]… [--force-all] [-y] [RECEIPT]",
		Short: "Take an apply back",
		Long: `Put reality back to what it was before an apply: the same bytes, modes, owners and
links. Without RECEIPT it is the latest that can be undone; at a terminal you are
asked whether that is the one.

All or nothing: when a path has changed since, nothing is undone and the path is
named. --force PATH undoes it all the same, and keeps what was there with the
receipt; --force-all is for every such path.`,
		Example: `  forkbox undo
  forkbox undo 3f2a
  forkbox undo --force src/main.go 3f2a`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeReceipts,
		RunE: func(cmd *cobra.Command, args []string) error {
			return u.run(cmd.Context(), append(args, "")[0])
		},
	}
	cmd.Flags().StringArrayVar(&u.force, "force", nil, "undo this `path` although it changed since (repeatable)")
	cmd.Flags().BoolVar(&u.forceAll, "force-all", false, "undo every path, whatever changed since")
	cmd.Flags().BoolVarP(&u.yes, "yes", "y", false, "do not ask")
	return cmd
}

type undoer struct {
	*app
	force         []string
	forceAll, yes bool
}

func (u *undoer) run(ctx context.Context, ref string) error {
	forced, err := here().paths(u.force)
	if err != nil {
		return err
	}
	c := u.client()
	defer c.Close()
	if ref == "" && !u.yes && u.canAsk() {
		if ref, err = u.confirm(ctx, c); err != nil || ref == "" {
			return err
		}
	}
	var receipt forkbox.Receipt
	err = u.patiently(ctx, "undoing", func(ctx context.Context) (err error) {
		receipt, err = c.Undo(ctx, ref, client.UndoRequest{Force: forced, ForceAll: u.forceAll})
		return err
	})
	if err == interrupted {
		u.say("interrupted; whether it was undone is in: forkbox receipts")
	}
	if err != nil {
		return advise(err, forkbox.Conflict, "--force", "undo them all the same: --force PATH for each, or --force-all")
	}
	if u.json {
		return u.printJSON(receipt)
	}
	u.say("undone: %s as before %s", areAs(receipt.Paths), receipt.ID)
	if receipt.Note != "" {
		u.say("note: %s", printable(receipt.Note))
	}
	return nil
}

// confirm names what would be undone; empty is no.
func (u *undoer) confirm(ctx context.Context, c *client.Client) (string, error) {
	latest, err := c.Receipt(ctx, "")
	if err != nil {
		return "", err
	}
	message := ""
	if latest.Message != "" {
		message = fmt.Sprintf(" (%s)", printable(latest.Message))
	}
	if !u.agree(fmt.Sprintf("undo %s: %s of box %s, %s%s?", latest.ID, plural(latest.Paths, "path"), latest.BoxName, ago(latest.Created), message)) {
		u.say("nothing was undone")
		return "", nil
	}
	return latest.ID, nil
}

func areAs(n int) string {
	if n == 1 {
		return "1 path is"
	}
	return fmt.Sprintf("%d paths are", n)
}
