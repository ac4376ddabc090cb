package network

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func WaitVerb(a *app.App) *cobra.Command {
	var port flags.PortsValue
	timeout := flags.LimitWait{Span: int64(30 * time.Second), Given: true}
	cmd := &cobra.Command{
		Use:   "wait --port PORT [--timeout TIME] BOX",
		Short: "Wait until something in a box listens on a port",
		Long: `Wait until something in a box accepts connections on a port: started is not ready.
The exit code is 124 when the time is up before that. A box at rest is an error:
nothing in it can become ready.`,
		Example: `  forkbox exec -d try -- npm start
  forkbox wait try --port 3000 && forkbox open try 3000
  forkbox wait --port 5432 --timeout 2m try`,
		Args:              app.Exactly(1, "a box: forkbox wait BOX --port PORT"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(port) != 1:
				return errors.New("wait needs one port: forkbox wait BOX --port PORT")
			case timeout.Span == 0:
				return errors.New("--timeout is a time above zero")
			}
			return waitPort(cmd.Context(), a, args[0], port[0], time.Duration(timeout.Span))
		},
	}
	cmd.Flags().Var(&port, "port", "the `port` of the box")
	cmd.Flags().Var(&timeout, "timeout", "how long to wait")
	cmd.RegisterFlagCompletionFunc("port", cobra.NoFileCompletions)
	cmd.RegisterFlagCompletionFunc("timeout", cobra.NoFileCompletions)
	return cmd
}

func waitPort(ctx context.Context, a *app.App, ref string, port int, timeout time.Duration) error {
	what := fmt.Sprintf("waiting for port %d of %s", port, terminal.Printable(ref))
	err := a.Patiently(ctx, what, func(ctx context.Context) error {
		return a.Client().WaitPort(ctx, ref, port, timeout)
	})
	if err != nil || !a.JSON {
		return err
	}
	return a.PrintJSON(forkbox.Port{Box: port})
}
