package main

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
)

// killGrace is what `forkbox kill` leaves between TERM and KILL.
const killGrace = 5 * time.Second

func (a *app) killVerb() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "kill [-s SIGNAL] BOX EXEC",
		Short: "End a command in a box",
		Long: `End an exec with everything it started: TERM, and KILL after five seconds. With -s
the signal is sent to the command and nothing else happens.`,
		Example: `  forkbox kill try 3
  forkbox kill -s HUP try 3`,
		Args:              exactly(2, "a box and an exec: forkbox kill BOX EXEC"),
		ValidArgsFunction: a.completeBoxThenExec,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.kill(cmd.Context(), args[0], args[1], name); err != nil || !a.json {
				return err
			}
			exec, err := a.client().GetExec(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return a.printJSON(exec)
		},
	}
	cmd.Flags().StringVarP(&name, "signal", "s", "", "send this signal: HUP, SIGUSR1, 15, …")
	return cmd
}

func (a *app) kill(ctx context.Context, box, exec, name string) error {
	if name == "" {
		defer a.progress("waiting for the command to end")()
		return a.client().Kill(ctx, box, exec, killGrace)
	}
	signal, ok := signalNumber(name)
	if !ok {
		return forkbox.Errorf(forkbox.Invalid, "kill", "there is no signal %q", name).Hint("see: kill -l")
	}
	return a.client().Signal(ctx, box, exec, signal)
}
