package exec

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/stdio"
	"github.com/forkbox/forkbox/internal/cli/terminal"
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
	return a.List(api.ExecList{Execs: list}, len(list), fmt.Sprintf("nothing has run in %s yet: forkbox exec %s -- CMD…", ref, ref), describe.ExecsHead, func(w io.Writer) { describe.WriteExecs(w, list) })
}

func PsVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "ps BOX",
		Short:             "List the processes in a box",
		Long:              "List the processes in a box, with the ids they have in there. A box at rest has none.",
		Example:           "  forkbox ps try",
		Args:              app.Exactly(1, "a box: forkbox ps BOX"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			processes, err := a.Client().Processes(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(api.ProcessList{Processes: processes})
			}
			return a.Table("PID\tPPID\tUID\tSTATE\tSTARTED\tCOMMAND", func(w io.Writer) { writeProcesses(w, processes) })
		},
	}
}

func writeProcesses(w io.Writer, processes []forkbox.Process) {
	for _, p := range processes {
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%s\t%s\n", p.PID, p.PPID, p.UID, terminal.Printable(p.State), terminal.Ago(p.Started), terminal.CommandLine(p.Command))
	}
}

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
