package exec

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/stdio"
	"github.com/spf13/cobra"
)

// killGrace is what `forkbox kill` leaves between TERM and KILL.
const killGrace = 5 * time.Second

func KillVerb(a *app.App) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "kill [-s SIGNAL] BOX EXEC",
		Short: "End a command in a box",
		Long: `End an exec with everything it started: TERM, and KILL after five seconds. With -s
the signal is sent to the command and nothing else happens.`,
		Example: `  forkbox kill try 3
  forkbox kill -s HUP try 3`,
		Args:              app.Exactly(2, "a box and an exec: forkbox kill BOX EXEC"),
		ValidArgsFunction: a.CompleteBoxThenExec,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := kill(cmd.Context(), a, args[0], args[1], name); err != nil || !a.JSON {
				return err
			}
			exec, err := a.Client().GetExec(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return a.PrintJSON(exec)
		},
	}
	cmd.Flags().StringVarP(&name, "signal", "s", "", "send this signal: HUP, SIGUSR1, 15, …")
	return cmd
}

func kill(ctx context.Context, a *app.App, box, exec, name string) error {
	if name == "" {
		defer a.Progress("waiting for the command to end")()
		return a.Client().Kill(ctx, box, exec, killGrace)
	}
	signal, ok := stdio.SignalNumber(name)
	if !ok {
		return forkbox.Errorf(forkbox.Invalid, "kill", "there is no signal %q", name).Hint("see: kill -l")
	}
	return a.Client().Signal(ctx, box, exec, signal)
}
