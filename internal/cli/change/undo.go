package change

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/review/scope"
)

func UndoVerb(a *app.App) *cobra.Command {
	u := &undoer{App: a}
	cmd := &cobra.Command{
		Use:   "undo [--force PATH]… [--force-all] [-y] [RECEIPT]",
		Short: "Take an apply back",
		Long: `Put reality back to what it was before an apply: the same bytes, modes, owners and
links. Without RECEIPT it is the latest that was applied to the workspace that you
are in, the git work tree or directory; at a terminal you are asked whether that is
the one. Where nothing was applied to it, your applies elsewhere are listed.

Where the apply made a commit (--commit) that is still the last one of the branch and
on no remote, the branch and the index go back too, as with git reset. Otherwise the
commit stays, and you are told.

All or nothing: when a path has changed since, nothing is undone and the path is
named. --force PATH undoes it all the same, and keeps what was there with the
receipt; --force-all is for every such path.`,
		Example: `  forkbox undo
  forkbox undo 3f2a
  forkbox undo --force src/main.go 3f2a`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteReceipts,
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
	*app.App
	force         []string
	forceAll, yes bool
}

func (u *undoer) run(ctx context.Context, ref string) error {
	forced, err := u.Here().Paths(u.force)
	if err != nil {
		return err
	}
	c := u.Client()
	defer c.Close()
	if ref == "" {
		if ref, err = u.latest(ctx, c); err != nil || ref == "" {
			return err
		}
	}
	var receipt forkbox.Receipt
	err = u.Patiently(ctx, "undoing", func(ctx context.Context) (err error) {
		receipt, err = c.Undo(ctx, ref, api.UndoRequest{Force: forced, ForceAll: u.forceAll})
		return err
	})
	if err == terminal.Interrupted {
		u.Say("interrupted; whether it was undone is in: forkbox receipts")
	}
	if err != nil {
		return app.Advise(err, forkbox.Conflict, "--force", "undo them all the same: --force PATH for each, or --force-all")
	}
	if u.JSON {
		return u.PrintJSON(receipt)
	}
	u.Say("undone: %s as before %s", areAs(receipt.Paths), receipt.ID)
	if receipt.Note != "" {
		u.Say("note: %s", terminal.Printable(receipt.Note))
	}
	return nil
}

// latest is what a bare undo means: the latest apply to this workspace, and
// never another project's. Empty is that the user said no.
func (u *undoer) latest(ctx context.Context, c *client.Client) (string, error) {
	list, err := c.Receipts(ctx)
	if err != nil {
		return "", err
	}
	mine, elsewhere := sortReceipts(list, u.Here())
	switch {
	case len(mine) == 0 && len(elsewhere) == 0:
		return "", forkbox.Errorf(forkbox.NotFound, "undo", "there is nothing to undo").
			Hint("forkbox receipts lists what was applied")
	case len(mine) == 0:
		return u.pick(elsewhere)
	case u.yes || !u.CanAsk():
		return mine[0].ID, nil
	}
	if !u.Agree("undo " + receiptText(mine[0]) + "?") {
		u.Say("nothing was undone")
		return "", nil
	}
	return mine[0].ID, nil
}

// pick asks which of the applies elsewhere is meant. Where the user cannot be
// asked it is an error that names them.
func (u *undoer) pick(elsewhere []forkbox.Receipt) (string, error) {
	shown := elsewhere[:min(len(elsewhere), 10)]
	if u.yes || !u.CanAsk() {
		e := forkbox.Errorf(forkbox.Ambiguous, "undo", "nothing that was applied to this directory can be undone; elsewhere there is:")
		for _, r := range shown {
			e.Hint("forkbox undo %s", terminal.Printable(receiptText(r)))
		}
		return "", e
	}
	u.Say("nothing that was applied to this directory can be undone; elsewhere there is:")
	for _, r := range shown {
		u.Say("  %s", receiptText(r))
	}
	if ref := u.Ask("undo which? (its id; nothing: none)"); ref != "" {
		return ref, nil
	}
	u.Say("nothing was undone")
	return "", nil
}

// sortReceipts tells what can be undone and was applied to the workspace that
// the caller is in from the rest. No workspace here is one of another machine's.
func sortReceipts(list []forkbox.Receipt, at place.Place) (mine, elsewhere []forkbox.Receipt) {
	root := scope.Root(at.Dir, exists)
	inGit := root != "" && exists(filepath.Join(root, ".git"))
	for _, r := range list {
		switch {
		case r.State != forkbox.Applied && !halfUndone(r):
		case at.Away:
			elsewhere = append(elsewhere, r)
		case r.Workdir == root, r.Workdir != "" && !inGit && forkbox.Within(at.Dir, r.Workdir):
			mine = append(mine, r)
		default:
			elsewhere = append(elsewhere, r)
		}
	}
	return mine, elsewhere
}

// halfUndone says whether an undo of a receipt goes on, or was interrupted and
// is settled when it is asked for again. An apply that goes on has no paths yet.
func halfUndone(r forkbox.Receipt) bool { return r.State == forkbox.Landing && r.Paths > 0 }

func receiptText(r forkbox.Receipt) string {
	where := r.Workdir
	if where == "" {
		where = "/"
	}
	text := fmt.Sprintf("%s: %s of box %s in %s, %s", r.ID, terminal.Plural(r.Paths, "path"), terminal.Printable(r.BoxName), terminal.Printable(where), terminal.Ago(r.Created))
	if r.Message != "" {
		text += fmt.Sprintf(" (%s)", terminal.Printable(r.Message))
	}
	return text
}

func areAs(n int) string {
	if n == 1 {
		return "1 path is"
	}
	return fmt.Sprintf("%d paths are", n)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
