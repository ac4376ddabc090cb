package snapshot

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func ForkVerb(a *app.App) *cobra.Command {
	var req api.ForkRequest
	var limits flags.Limits
	var net flags.Net
	cmd := &cobra.Command{
		Use:   "fork [--count N] [--net none|policy|host|team:NAME] [network] [limits] BOX[@SNAPSHOT] [NAME]",
		Short: "Make other boxes of a box",
		Long: `Make a box that begins as another one is now, or was at a snapshot, and print its
name. From then on the two have nothing to do with each other. BOX@ is the last
snapshot of BOX.

With --count there are several, of the same moment, each with a number after
NAME. A child that cannot be made is reported on stderr, and the exit code is 1;
the others are there.

The children have the limits of the box, but for those that flags name, and its
network: what --allow and --deny say comes before the rules of the box. Ports that
the box has published stay its own.`,
		Example: `  forkbox fork try
  forkbox fork try@green other
  forkbox fork --count 3 try attempt
  forkbox fork --count 3 --memory 1g try small
  forkbox fork --count 8 --json try | jq -r '.children[].name'`,
		Args:              app.Between(1, 2, "a box: forkbox fork BOX[@SNAPSHOT] [NAME]"),
		ValidArgsFunction: a.CompleteRefs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if req.Count < 1 {
				return errors.New("--count is one at least")
			}
			word, wish, err := net.Request(true, false)
			if err != nil {
				return err
			}
			req.Name, req.Wish = append(args, "")[1], limits.Wish()
			req.Net, req.NetWish = forkbox.Net(word), wish
			net.Warn(a)
			return fork(cmd.Context(), a, args[0], req)
		},
	}
	cmd.Flags().IntVar(&req.Count, "count", 1, "how many")
	net.Add(a, cmd, "if nothing is said: as BOX has it")
	cmd.RegisterFlagCompletionFunc("count", cobra.NoFileCompletions)
	limits.AddForBox(cmd)
	limits.AddWait(cmd)
	return cmd
}

func fork(ctx context.Context, a *app.App, ref string, req api.ForkRequest) error {
	var made forkbox.Fork
	err := a.InLine(ctx, "forking "+ref, req.Wish.Ticket, func(ctx context.Context) (err error) {
		made, err = a.Client().ForkWith(ctx, ref, req)
		return err
	})
	if err != nil {
		return err
	}
	if a.JSON {
		err = a.PrintJSON(made)
	} else {
		err = showChildren(a, made)
	}
	for _, child := range made.Children {
		if child.Error != nil && err == nil {
			err = app.SomeFailed
		}
		if child.Box != nil {
			flags.TellNote(a, string(req.Net), *child.Box)
		}
	}
	return err
}

// showChildren has the names of those that are there on stdout, for a script,
// and what went wrong with the others on stderr.
func showChildren(a *app.App, made forkbox.Fork) error {
	if made.Snapshot.Paused > 0 {
		a.Say("paused %s while it was copied", pauseText(made.Snapshot.Paused))
	}
	for _, child := range made.Children {
		if child.Error != nil {
			reportChild(a, child)
			continue
		}
		if _, err := fmt.Fprintln(a.Stdout, child.Name); err != nil {
			return err
		}
	}
	return nil
}

func reportChild(a *app.App, child forkbox.Child) {
	name := child.Name
	if name == "" {
		name = "a child without a name"
	}
	a.Say("%s %s: %s", a.Paint(terminal.Red, "error:"), terminal.Printable(name), terminal.Printable(child.Error.Error()))
	for _, hint := range child.Error.Hints {
		a.Say("%s %s", a.Paint(terminal.Bold, "hint:"), terminal.Printable(hint))
	}
}
